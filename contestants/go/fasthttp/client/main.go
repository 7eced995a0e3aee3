// fasthttp as a client: http, https.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

var (
	url         = os.Getenv("WIREBENCH_URL")
	policy      = os.Getenv("WIREBENCH_POLICY")
	posts       = os.Getenv("WIREBENCH_METHOD") == "POST"
	expected    = payload(number("WIREBENCH_PAYLOAD_BYTES"))
	errWrong    = errors.New("wrong reply")
	connections atomic.Int64
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

// newClient has fasthttp's default dialer, which counts here.
func newClient() *fasthttp.Client {
	return &fasthttp.Client{
		TLSConfig:           authorities(),
		MaxIdleConnDuration: 75 * time.Second,
		ReadTimeout:         10 * time.Second,
		WriteTimeout:        10 * time.Second,
		Dial: func(address string) (net.Conn, error) {
			connections.Add(1)
			return fasthttp.Dial(address)
		},
	}
}

// operate sends a GET, or a POST of what is expected back. It has no keep-alive under policy new: the
// client closes the connection, and asks the server to.
func operate(client *fasthttp.Client) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(url)
	if posts {
		request.Header.SetMethod(fasthttp.MethodPost)
		request.Header.SetContentType("application/octet-stream")
		request.SetBody(expected)
	}
	if policy == "new" {
		request.SetConnectionClose()
	}
	if err := client.Do(request, response); err != nil {
		return err
	}
	if response.StatusCode() != fasthttp.StatusOK || !bytes.Equal(response.Body(), expected) {
		return errWrong
	}
	return nil
}

func operateCold() error {
	client := newClient()
	defer client.CloseIdleConnections()
	return operate(client)
}

func main() {
	kept := newClient()
	operation := func() error { return operate(kept) }
	if policy == "cold" {
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
