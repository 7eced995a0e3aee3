package main

import (
	"context"
	"sync"

	"github.com/coder/websocket"
)

// hub sends each message to all connections, as in the library's chat example: each has a queue,
// and a goroutine that writes what is in it.
type hub struct {
	mutex       sync.Mutex
	subscribers map[*subscriber]struct{}
}

type message struct {
	kind websocket.MessageType
	data []byte
}

type subscriber struct {
	messages  chan message
	closeSlow func()
}

func (h *hub) publish(m message) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for s := range h.subscribers {
		select {
		case s.messages <- m:
		default:
			go s.closeSlow()
		}
	}
}

func (h *hub) serve(ctx context.Context, conn *websocket.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &subscriber{
		messages: make(chan message, 256),
		closeSlow: func() {
			conn.Close(websocket.StatusPolicyViolation, "connection too slow to keep up with messages")
		},
	}
	h.mutex.Lock()
	h.subscribers[s] = struct{}{}
	h.mutex.Unlock()
	defer func() {
		h.mutex.Lock()
		delete(h.subscribers, s)
		h.mutex.Unlock()
	}()
	go s.write(ctx, conn)
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		h.publish(message{kind, data})
	}
}

func (s *subscriber) write(ctx context.Context, conn *websocket.Conn) {
	for {
		select {
		case m := <-s.messages:
			if conn.Write(ctx, m.kind, m.data) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
