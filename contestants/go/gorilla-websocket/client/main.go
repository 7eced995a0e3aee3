// gorilla/websocket as a client: ws, wss.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

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

func newDialer() *websocket.Dialer {
	return &websocket.Dialer{TLSClientConfig: authorities()}
}

func dial(dialer *websocket.Dialer) (*websocket.Conn, error) {
	conn, _, err := dialer.Dial(url, nil)
	if err == nil {
		connections++
	}
	return conn, err
}

func exchange(conn *websocket.Conn) error {
	if err := conn.WriteMessage(websocket.TextMessage, expected); err != nil {
		return err
	}
	kind, message, err := conn.ReadMessage()
	if err == nil && (kind != websocket.TextMessage || !bytes.Equal(message, expected)) {
		err = errWrong
	}
	return err
}

func exchangeOnce(dialer *websocket.Dialer) error {
	conn, err := dial(dialer)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := exchange(conn); err != nil {
		return err
	}
	// The closing handshake: say goodbye, then read until the peer has answered.
	goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	if err := conn.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, _, err := conn.NextReader(); !websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseNoStatusReceived) {
		return err
	}
	return nil
}

func main() {
	dialer := newDialer()
	operation := func() error { return exchangeOnce(dialer) }
	switch os.Getenv("WIREBENCH_POLICY") {
	case "cold":
		operation = func() error { return exchangeOnce(newDialer()) }
	case "reuse":
		conn, err := dial(dialer)
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
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
