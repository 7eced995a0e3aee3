// Go's net/http client against wire's server: client BASE [CA]. Prints "ok".
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
)

func check(holds bool, what string, values ...any) {
	if !holds {
		fmt.Fprintln(os.Stderr, append([]any{what}, values...)...)
		os.Exit(1)
	}
}

func main() {
	base := os.Args[1]
	transport := &http.Transport{}
	if len(os.Args) > 2 {
		pem, err := os.ReadFile(os.Args[2])
		check(err == nil, "CA", err)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	client := &http.Client{Transport: transport}
	read := func(response *http.Response, err error) []byte {
		check(err == nil, "request", err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		check(err == nil && response.StatusCode == 200, "body", response.Status, err)
		return body
	}
	check(string(read(client.Get(base+"/hello"))) == "hello\n", "hello")
	peer := string(read(client.Get(base + "/peer")))
	for range 20 {
		again := string(read(client.Get(base + "/peer")))
		check(again == peer, "another connection", peer, again)
	}
	// Go asks for gzip and decodes it.
	response, err := client.Get(base + "/chunks/300000")
	body := read(response, err)
	check(response.Uncompressed && len(body) == 300000, "gzip", response.Uncompressed, len(body))
	sum := fmt.Sprintf("%d %d", len(body), crc32.ChecksumIEEE(body))

	check(string(read(client.Post(base+"/sum", "text/plain", bytes.NewReader(body)))) == sum, "length")
	unknown := struct{ io.Reader }{bytes.NewReader(body)} // of no known length: chunked
	check(bytes.Equal(read(client.Post(base+"/echo", "text/plain", unknown)), body), "chunked")

	request, _ := http.NewRequest("PUT", base+"/sum", bytes.NewReader(body))
	request.Header.Set("Expect", "100-continue")
	check(string(read(client.Do(request))) == sum, "expect")

	hints := 0
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, fields textproto.MIMEHeader) error {
		check(code == 103 && fields.Get("Link") != "", "interim", code, fields)
		hints++
		return nil
	}}
	request, _ = http.NewRequestWithContext(
		httptrace.WithClientTrace(context.Background(), trace), "GET", base+"/hints", nil)
	request.Header.Set("TE", "trailers")
	request.Header.Set("Connection", "TE")
	response, err = client.Do(request)
	text := read(response, err)
	sum = fmt.Sprintf("%d %d", len(text), crc32.ChecksumIEEE(text))
	check(hints == 1 && response.Trailer.Get("X-Checksum") == sum, "trailer", hints, response.Trailer)

	response, err = client.Head(base + "/bytes/1000")
	check(len(read(response, err)) == 0 && response.ContentLength == 1000, "HEAD")
	fmt.Println("ok")
}
