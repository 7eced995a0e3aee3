// gorilla/websocket as a server: ws.echo, ws.count, ws.broadcast.
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

	"github.com/gorilla/websocket"
)

type request struct {
	C int64 `json:"c"`
}

type reply struct {
	C  int64 `json:"c"`
	TS int64 `json:"ts"`
}

var upgrader = websocket.Upgrader{}

func echo(kind int, message []byte) (int, []byte, error) {
	return kind, message, nil
}

func count(_ int, message []byte) (int, []byte, error) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return 0, nil, err
	}
	body, err := json.Marshal(reply{C: r.C, TS: time.Now().Unix()})
	return websocket.TextMessage, body, err
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads) // below 1 changes nothing
	answer := count
	if os.Getenv("WIREBENCH_WORKLOAD") == "ws.echo" {
		answer = echo
	}
	isBroadcast := os.Getenv("WIREBENCH_WORKLOAD") == "ws.broadcast"
	all := newHub()
	go all.run()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // Upgrade has replied
		}
		defer conn.Close()
		conn.SetReadLimit(16 << 20) // no limit by default
		if isBroadcast {
			all.serve(conn)
			return
		}
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if kind, message, err = answer(kind, message); err != nil {
				return
			}
			if conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
	server := http.Server{
		Addr:              net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT")),
		ReadHeaderTimeout: time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	log.Fatal(server.ListenAndServe())
}
