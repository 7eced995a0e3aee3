// fasthttp as a server: http.hello, rest, and with its WebSocket module ws.echo, ws.count.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/fasthttp/router"
	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
)

type request struct {
	C int64 `json:"c"`
}

type reply struct {
	C  int64 `json:"c"`
	TS int64 `json:"ts"`
}

func text(body string) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { ctx.WriteString(body) }
}

func label(ctx *fasthttp.RequestCtx) {
	ctx.WriteString("label: ")
	ctx.WriteString(ctx.UserValue("label").(string))
}

func postTest(threads int, delay time.Duration) fasthttp.RequestHandler {
	handlers := make(chan struct{}, max(threads, 1)) // goroutines are not bounded by themselves
	return func(ctx *fasthttp.RequestCtx) {
		if !json.Valid(ctx.PostBody()) {
			ctx.Error("expected JSON", fasthttp.StatusBadRequest)
			return
		}
		if delay > 0 {
			handlers <- struct{}{}
			time.Sleep(delay)
			<-handlers
		}
		ctx.WriteString("Sending response: ")
		ctx.Write(ctx.PostBody())
	}
}

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

func upgrade(answer func(int, []byte) (int, []byte, error)) fasthttp.RequestHandler {
	upgrader := websocket.FastHTTPUpgrader{}
	return func(ctx *fasthttp.RequestCtx) {
		// Upgrade replies with what is wrong by itself.
		upgrader.Upgrade(ctx, func(conn *websocket.Conn) {
			defer conn.Close()
			conn.SetReadLimit(16 << 20) // no limit by default
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
	}
}

// patient waits where fasthttp's server ends: when an accept fails for too many open files.
type patient struct{ net.Listener }

func (p patient) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return conn, err
		}
		time.Sleep(time.Second)
	}
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads) // below 1 changes nothing
	delayMs, _ := strconv.Atoi(os.Getenv("WIREBENCH_DELAY_MS"))

	routes := router.New()
	switch os.Getenv("WIREBENCH_WORKLOAD") {
	case "ws.echo":
		routes.GET("/", upgrade(echo))
	case "ws.count":
		routes.GET("/", upgrade(count))
	default:
		routes.GET("/route_01", text("hello from route_01"))
		routes.GET("/route_02", text("hello from route_02"))
		routes.GET("/test/status", text("OK"))
		routes.GET("/test/labels/{label}", label)
		routes.POST("/test", postTest(threads, time.Duration(delayMs)*time.Millisecond))
	}
	server := fasthttp.Server{
		Handler:     routes.Handler,
		ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute,
		Logger:      log.New(io.Discard, "", 0),
	}
	serve := func(listener net.Listener) error { return server.Serve(patient{listener}) }
	address := net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT"))
	// Several handlers of one service in rest; else processes, each with one.
	if threads > 1 && os.Getenv("WIREBENCH_WORKLOAD") != "rest" {
		processes := prefork.New(&server)
		processes.Reuseport = true
		processes.ServeFunc = serve
		log.Fatal(processes.ListenAndServe(address))
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(serve(listener))
}
