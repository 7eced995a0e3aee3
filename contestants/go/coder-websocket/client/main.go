// coder/websocket as a client: ws, wss.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

const limit = 10 * time.Second

var (
	url         = os.Getenv("WIREBENCH_URL")
	expected    = payload(number("WIREBENCH_PAYLOAD_BYTES"))
	errWrong    = errors.New("wrong reply")
	connections int
)

func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Fatalf("%s: expected a number, got %q", name, os.Getenv(name))
	}
	return n
}

func payload(n int) []byte {
	return bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n]
}

// authorities are those of WIREBENCH_CA_FILE, or the system's.
func authorities() *tls.Config {
	file := os.Getenv("WIREBENCH_CA_FILE")
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: pool}
}

// newOptions are the dialer of this library: an HTTP client, which holds the authorities.
func newOptions() *websocket.DialOptions {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.TLSClientConfig = authorities()
	return &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}
}

func dial(options *websocket.DialOptions) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url, options)
	if err == nil {
		connections++
		conn.SetReadLimit(16 << 20)
	}
	return conn, err
}

func exchange(conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, expected); err != nil {
		return err
	}
	kind, message, err := conn.Read(ctx)
	if err == nil && (kind != websocket.MessageText || !bytes.Equal(message, expected)) {
		err = errWrong
	}
	return err
}

func exchangeOnce(options *websocket.DialOptions) error {
	conn, err := dial(options)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if err := exchange(conn); err != nil {
		return err
	}
	return conn.Close(websocket.StatusNormalClosure, "")
}

func main() {
	options := newOptions()
	operation := func() error { return exchangeOnce(options) }
	switch os.Getenv("WIREBENCH_POLICY") {
	case "cold":
		operation = func() error { return exchangeOnce(newOptions()) }
	case "reuse":
		conn, err := dial(options)
		if err != nil {
			log.Fatal(err)
		}
		defer conn.CloseNow()
		operation = func() error { return exchange(conn) }
	}
	warmup, operations := number("WIREBENCH_WARMUP"), number("WIREBENCH_OPERATIONS")
	samples := make([]byte, 0, 8*operations)
	failed := 0
	for i := 0; i < warmup; i++ {
		if operation() != nil {
			failed++
		}
	}
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	began := time.Now()
	for i := 0; i < operations; i++ {
		start := time.Now()
		err := operation()
		samples = binary.LittleEndian.AppendUint64(samples, uint64(time.Since(start)))
		if err != nil {
			failed++
		}
	}
	wall := time.Since(began)
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	if err := os.WriteFile(os.Getenv("WIREBENCH_SAMPLES"), samples, 0o644); err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"operations":    int64(operations),
		"errors":        int64(failed),
		"connections":   int64(connections),
		"wall_ns":       wall.Nanoseconds(),
		"cpu_user_ns":   after.Utime.Nano() - before.Utime.Nano(),
		"cpu_system_ns": after.Stime.Nano() - before.Stime.Nano(),
	})
	if failed > 0 {
		os.Exit(1)
	}
}
