package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/test/controlplane"
)

// Client reads and writes keys of a plane's etcd, by its JSON gateway.
type Client struct {
	http     *http.Client
	endpoint string
}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
	// Writes is how often the key was written since it was created, the creation included.
	Writes int64
}

// APIVersion is the version that an object is stored in; empty if the value is not an object in JSON.
func (e Entry) APIVersion() string {
	var object struct {
		APIVersion string `json:"apiVersion"`
	}
	if json.Unmarshal(e.Value, &object) != nil {
		return ""
	}
	return object.APIVersion
}

// Open connects to the etcd of a plane that this process or another one runs.
func Open(plane *controlplane.Plane) (*Client, error) {
	state, err := controlplane.ReadState(plane.Dir())
	if err != nil {
		return nil, err
	}
	pki := filepath.Join(plane.Dir(), "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "serving.crt"), filepath.Join(pki, "serving.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the keys of etcd: %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the authority of etcd: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}}
	for _, part := range state.Parts {
		if part.Name == controlplane.Etcd {
			return &Client{
				http:     &http.Client{Transport: transport},
				endpoint: "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(part.Port)),
			}, nil
		}
	}
	return nil, errors.New("the plane has no etcd")
}

// Prefix is where the objects of a custom resource are; the key goes on with namespace and name.
func Prefix(resource schema.GroupResource) string {
	return "/registry/" + resource.Group + "/" + resource.Resource + "/"
}

// List returns every key below a prefix.
func (c *Client) List(ctx context.Context, prefix string) ([]Entry, error) {
	end := []byte(prefix)
	end[len(end)-1]++
	var answer struct {
		KVs []struct {
			Key     []byte `json:"key"`
			Value   []byte `json:"value"`
			Version int64  `json:"version,string"`
		} `json:"kvs"`
	}
	if err := c.call(ctx, "/v3/kv/range", map[string]any{"key": []byte(prefix), "range_end": end}, &answer); err != nil {
		return nil, err
	}
	entries := make([]Entry, len(answer.KVs))
	for i, kv := range answer.KVs {
		entries[i] = Entry{Key: string(kv.Key), Value: kv.Value, Writes: kv.Version}
	}
	return entries, nil
}

// Put writes a key, as no API server would.
func (c *Client) Put(ctx context.Context, key string, value []byte) error {
	return c.call(ctx, "/v3/kv/put", map[string]any{"key": []byte(key), "value": value}, &struct{}{})
}

// Compact forgets every revision before the latest one, so that older positions in lists expire.
func (c *Client) Compact(ctx context.Context) error {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	if err := c.call(ctx, "/v3/kv/range", map[string]any{"key": []byte("/"), "limit": 1}, &answer); err != nil {
		return err
	}
	return c.call(ctx, "/v3/kv/compaction", map[string]any{"revision": answer.Header.Revision}, &struct{}{})
}

func (c *Client) call(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s: %s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}
