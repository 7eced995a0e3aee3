// gws as a server: ws.echo, ws.count, ws.broadcast.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/lxzan/gws"
)

type request struct {
	C int64 `json:"c"`
}

type reply struct {
	C  int64 `json:"c"`
	TS int64 `json:"ts"`
}

type events struct{ gws.BuiltinEventHandler }

func (events) OnPing(socket *gws.Conn, payload []byte) {
	socket.WritePong(payload) // the built-in one leaves the payload out
}

type echo struct{ events }

func (echo) OnMessage(socket *gws.Conn, message *gws.Message) {
	defer message.Close()
	socket.WriteMessage(message.Opcode, message.Bytes())
}

type count struct{ events }

func (count) OnMessage(socket *gws.Conn, message *gws.Message) {
	defer message.Close()
	var r request
	if err := json.Unmarshal(message.Bytes(), &r); err != nil {
		socket.WriteClose(1007, []byte("expected JSON"))
		return
	}
	body, err := json.Marshal(reply{C: r.C, TS: time.Now().Unix()})
	if err == nil {
		socket.WriteMessage(gws.OpcodeText, body)
	}
}

// broadcast sends each message to all; it is framed once.
type broadcast struct {
	events
	all *gws.ConcurrentMap[*gws.Conn, struct{}]
}

func (b broadcast) OnOpen(socket *gws.Conn) { b.all.Store(socket, struct{}{}) }

func (b broadcast) OnClose(socket *gws.Conn, _ error) { b.all.Delete(socket) }

func (b broadcast) OnMessage(socket *gws.Conn, message *gws.Message) {
	defer message.Close()
	sender := gws.NewBroadcaster(message.Opcode, message.Bytes())
	defer sender.Close()
	b.all.Range(func(to *gws.Conn, _ struct{}) bool {
		sender.Broadcast(to)
		return true
	})
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads) // below 1 changes nothing
	var handler gws.Event = count{}
	switch os.Getenv("WIREBENCH_WORKLOAD") {
	case "ws.echo":
		handler = echo{}
	case "ws.broadcast":
		handler = broadcast{all: gws.NewConcurrentMap[*gws.Conn, struct{}](16)}
	}
	upgrader := gws.NewUpgrader(handler, &gws.ServerOption{CheckUtf8Enabled: true})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		socket, err := upgrader.Upgrade(w, r)
		if err != nil {
			return // Upgrade has replied
		}
		go socket.ReadLoop() // in a goroutine of its own, so that net/http's buffers are freed
	})
	server := http.Server{
		Addr:              net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT")),
		ReadHeaderTimeout: time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	log.Fatal(server.ListenAndServe())
}
