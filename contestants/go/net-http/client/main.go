// net/http as a client: http, https.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	url         = os.Getenv("WIREBENCH_URL")
	posts       = os.Getenv("WIREBENCH_METHOD") == "POST"
	expected    = payload(number("WIREBENCH_PAYLOAD_BYTES"))
	errWrong    = errors.New("wrong reply")
	connections atomic.Int64 // the transport dials in goroutines of its own
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

// newClient is http.DefaultTransport's set-up with a dialer that counts.
func newClient(keepAlives bool) *http.Client {
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DisableKeepAlives = !keepAlives
	transport.TLSClientConfig = authorities()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
	return &http.Client{Transport: transport}
}

// ask sends a GET, or a POST of what is expected back.
func ask(client *http.Client) (*http.Response, error) {
	if posts {
		return client.Post(url, "application/octet-stream", bytes.NewReader(expected))
	}
	return client.Get(url)
}

func operate(client *http.Client) error {
	response, err := ask(client)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Equal(body, expected) {
		return errWrong
	}
	return nil
}

func operateCold() error {
	client := newClient(true)
	defer client.CloseIdleConnections()
	return operate(client)
}

func main() {
	kept := newClient(os.Getenv("WIREBENCH_POLICY") == "reuse")
	operation := func() error { return operate(kept) }
	if os.Getenv("WIREBENCH_POLICY") == "cold" {
		operation = operateCold
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
		"connections":   connections.Load(),
		"wall_ns":       wall.Nanoseconds(),
		"cpu_user_ns":   after.Utime.Nano() - before.Utime.Nano(),
		"cpu_system_ns": after.Stime.Nano() - before.Stime.Nano(),
	})
	if failed > 0 {
		os.Exit(1)
	}
}
