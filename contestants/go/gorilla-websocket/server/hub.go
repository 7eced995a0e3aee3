package main

import "github.com/gorilla/websocket"

// hub sends each message to all connections, as in the library's chat example: one goroutine owns
// the set, and each connection has a goroutine that writes what waits for it.
type hub struct {
	clients    map[*client]bool
	register   chan *client
	unregister chan *client
	broadcast  chan *websocket.PreparedMessage
}

type client struct {
	conn *websocket.Conn
	send chan *websocket.PreparedMessage
}

func newHub() *hub {
	return &hub{
		clients:    make(map[*client]bool),
		register:   make(chan *client),
		unregister: make(chan *client),
		broadcast:  make(chan *websocket.PreparedMessage),
	}
}

func (h *hub) run() {
	for {
		select {
		case c := <-h.register:
			h.clients[c] = true
		case c := <-h.unregister:
			h.remove(c)
		case message := <-h.broadcast:
			for c := range h.clients {
				select {
				case c.send <- message:
				default: // too slow
					h.remove(c)
				}
			}
		}
	}
}

func (h *hub) remove(c *client) {
	if h.clients[c] {
		delete(h.clients, c)
		close(c.send)
	}
}

func (h *hub) serve(conn *websocket.Conn) {
	c := &client{conn: conn, send: make(chan *websocket.PreparedMessage, 256)}
	h.register <- c
	defer func() { h.unregister <- c }()
	go c.write()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		prepared, err := websocket.NewPreparedMessage(kind, message)
		if err != nil {
			return
		}
		h.broadcast <- prepared
	}
}

func (c *client) write() {
	defer c.conn.Close()
	for message := range c.send {
		if c.conn.WritePreparedMessage(message) != nil {
			return
		}
	}
}
