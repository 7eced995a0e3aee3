// net/http as a server: http.hello, rest.
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
)

const maxBodyBytes = 16 << 20

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, body)
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, body) }
}

func main() {
	threads, _ := strconv.Atoi(os.Getenv("WIREBENCH_THREADS"))
	runtime.GOMAXPROCS(threads) // below 1 changes nothing
	delayMs, _ := strconv.Atoi(os.Getenv("WIREBENCH_DELAY_MS"))
	delay := time.Duration(delayMs) * time.Millisecond
	handlers := make(chan struct{}, max(threads, 1)) // goroutines are not bounded by themselves

	mux := http.NewServeMux()
	mux.HandleFunc("GET /route_01", text("hello from route_01"))
	mux.HandleFunc("GET /route_02", text("hello from route_02"))
	mux.HandleFunc("GET /test/status", text("OK"))
	mux.HandleFunc("GET /test/labels/{label}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, "label: "+r.PathValue("label"))
	})
	mux.HandleFunc("POST /test", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
		if err != nil || !json.Valid(body) {
			http.Error(w, "expected JSON", http.StatusBadRequest)
			return
		}
		if delay > 0 {
			handlers <- struct{}{}
			time.Sleep(delay)
			<-handlers
		}
		reply(w, "Sending response: "+string(body))
	})

	server := http.Server{
		Addr:              net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT")),
		Handler:           mux,
		ReadHeaderTimeout: time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	if certificate := os.Getenv("WIREBENCH_TLS_CERT"); certificate != "" {
		log.Fatal(server.ListenAndServeTLS(certificate, os.Getenv("WIREBENCH_TLS_KEY")))
	}
	log.Fatal(server.ListenAndServe())
}
