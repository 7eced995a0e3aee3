// coder/websocket as a server: ws.echo, ws.count, ws.broadcast.
package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

type request struct {
	C int64 `json:"c"`
}

type reply struct {
	C  int64 `json:"c"`
	TS int64 `json:"ts"`
}

func echo(ctx context.Context, conn *websocket.Conn) error {
	kind, message, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	return conn.Write(ctx, kind, message)
}

func count(ctx context.Context, conn *websocket.Conn) error {
	var r request
	if err := wsjson.Read(ctx, conn, &r); err != nil {
		return err
	}
	return wsjson.Write(ctx, conn, reply{C: r.C, TS: time.Now().Unix()})
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads) // below 1 changes nothing
	answer := count
	if os.Getenv("WIREBENCH_WORKLOAD") == "ws.echo" {
		answer = echo
	}
	isBroadcast := os.Getenv("WIREBENCH_WORKLOAD") == "ws.broadcast"
	all := hub{subscribers: make(map[*subscriber]struct{})}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // Accept has replied
		}
		defer conn.CloseNow()
		conn.SetReadLimit(16 << 20) // 32 KiB by default
		if isBroadcast {
			all.serve(r.Context(), conn)
			return
		}
		for answer(r.Context(), conn) == nil {
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
