package conversion

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

// HandlerOptions bound what the handler takes. Zero values mean the defaults.
type HandlerOptions struct {
	// MaxBodyBytes is the largest request that is read; a larger one is answered 413. Default: 64 MiB.
	MaxBodyBytes int64

	// MaxInFlightBytes bounds the bodies of all requests under way together, each counted as at least 1 MiB, or as its answer once
	// that is larger: compressed annotations can grow a thousandfold. A request beyond it is answered 503 with Retry-After, which
	// the API server obeys. Default: 256 MiB, at least MaxBodyBytes.
	MaxInFlightBytes int64

	// ReadTimeout bounds the reading of a body; a slower one is answered 408. Default: 10 seconds.
	ReadTimeout time.Duration

	// Registerer gets the metrics. Nil: they are measured and not shown.
	Registerer prometheus.Registerer
}

const (
	defaultMaxBodyBytes     = 64 << 20
	defaultMaxInFlightBytes = 256 << 20
	defaultReadTimeout      = 10 * time.Second

	// leastWeight is what the smallest request counts, so that the number of requests is bounded too.
	leastWeight = 1 << 20

	// spareBytes is the largest buffer that is kept for good, for spareBuffers of them: requests for a page of objects come far
	// apart, and without them each would find the pool emptied by the garbage collector. pooledBytes is the largest in the pool.
	spareBytes   = 4 << 20
	spareBuffers = 4
	pooledBytes  = 32 << 20

	retryAfterSeconds = 1
)

// answerHead begins every answer, up to the response's first member.
const answerHead = `{"kind":"ConversionReview","response":{`

const jsonType = "application/json"

var answerType = []string{jsonType}

// handler serves ConversionReviews of apiextensions.k8s.io/v1.
type handler struct {
	options  HandlerOptions
	convert  *converter
	metrics  *metrics
	inFlight *semaphore.Weighted
	spare    chan *bytes.Buffer
	buffers  sync.Pool
}

// NewHandler returns the handler for the conversion webhook. It answers every well-formed review with one object per
// object, in order, and logs nothing. It panics if the metrics cannot be registered, which is a mistake at start-up.
func NewHandler(options HandlerOptions) http.Handler {
	return newHandler(options, standard)
}

func newHandler(options HandlerOptions, c *converter) *handler {
	if options.MaxBodyBytes <= 0 {
		options.MaxBodyBytes = defaultMaxBodyBytes
	}
	if options.MaxInFlightBytes <= 0 {
		options.MaxInFlightBytes = defaultMaxInFlightBytes
	}
	options.MaxInFlightBytes = max(options.MaxInFlightBytes, options.MaxBodyBytes, leastWeight)
	if options.ReadTimeout <= 0 {
		options.ReadTimeout = defaultReadTimeout
	}
	return &handler{
		options:  options,
		convert:  c,
		metrics:  newMetrics(options.Registerer),
		inFlight: semaphore.NewWeighted(options.MaxInFlightBytes),
		spare:    make(chan *bytes.Buffer, spareBuffers),
		buffers:  sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// ServeHTTP answers one review.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	start := time.Now()
	if refusal := h.refusal(req); refusal != 0 {
		h.refuse(w, refusal)
		return
	}
	var room share
	defer func() { h.inFlight.Release(room.bytes) }()
	if !room.grow(h.inFlight, h.weight(req.ContentLength)) {
		h.refuseForNow(w)
		return
	}

	in, out := h.buffer(), h.buffer()
	defer h.release(in)
	defer h.release(out)
	if err := h.readBody(in, w, req); err != nil {
		h.refuse(w, statusOf(err))
		return
	}
	out.Grow(in.Len()) // an answer is seldom longer than the request
	answer, ok := h.answer(req.Context(), &room, append(out.AvailableBuffer(), answerHead...), in.Bytes())
	switch {
	case !ok:
		h.refuse(w, http.StatusBadRequest)
		return
	case errors.Is(answer.err, errNoRoom):
		h.refuseForNow(w)
		return
	}
	h.metrics.observe(answer, time.Since(start))
	w.Header()["Content-Type"] = answerType
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.body)))
	_, _ = w.Write(answer.body) // the API server is gone: nobody to tell
	*out = *bytes.NewBuffer(answer.body)
}

// refusal returns the status for a request that is not worth reading, 0 for one that is.
func (h *handler) refusal(req *http.Request) int {
	if req.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	if contentType := req.Header.Get("Content-Type"); contentType != jsonType {
		if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != jsonType {
			return http.StatusUnsupportedMediaType
		}
	}
	if req.ContentLength > h.options.MaxBodyBytes {
		return http.StatusRequestEntityTooLarge
	}
	return 0
}

func (h *handler) refuse(w http.ResponseWriter, status int) {
	h.metrics.refused.WithLabelValues(strconv.Itoa(status)).Inc()
	http.Error(w, http.StatusText(status), status)
}

func (h *handler) refuseForNow(w http.ResponseWriter) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	h.refuse(w, http.StatusServiceUnavailable)
}

// share is what a request has of the bytes in flight.
type share struct{ bytes int64 }

// errNoRoom says that an answer outgrew what is left of the bytes in flight.
var errNoRoom = errors.New("no room for the answer")

// grow takes enough for bytes, in steps, or reports that there is not so much.
func (s *share) grow(inFlight *semaphore.Weighted, bytes int64) bool {
	if bytes <= s.bytes {
		return true
	}
	more := max(bytes-s.bytes, leastWeight)
	if !inFlight.TryAcquire(more) {
		return false
	}
	s.bytes += more
	return true
}

// weight is what a request takes of the bytes in flight; of unknown length, all it may read.
func (h *handler) weight(contentLength int64) int64 {
	if contentLength < 0 {
		contentLength = h.options.MaxBodyBytes
	}
	return contentLength
}

func (h *handler) readBody(in *bytes.Buffer, w http.ResponseWriter, req *http.Request) error {
	deadline := http.NewResponseController(w)
	if err := deadline.SetReadDeadline(time.Now().Add(h.options.ReadTimeout)); err == nil {
		defer func() { _ = deadline.SetReadDeadline(time.Time{}) }() // as good as the first call was
	}
	if req.ContentLength > 0 {
		in.Grow(int(req.ContentLength) + bytes.MinRead)
	}
	_, err := in.ReadFrom(http.MaxBytesReader(w, req.Body, h.options.MaxBodyBytes))
	return err
}

// statusOf is the status for a body that could not be read.
func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return http.StatusRequestTimeout
	case errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest
	}
	return http.StatusBadRequest
}

func (h *handler) buffer() *bytes.Buffer {
	select {
	case b := <-h.spare:
		return b
	default:
		return h.buffers.Get().(*bytes.Buffer)
	}
}

func (h *handler) release(b *bytes.Buffer) {
	if b.Reset(); b.Cap() <= spareBytes {
		select {
		case h.spare <- b:
			return
		default:
		}
	}
	if b.Cap() <= pooledBytes {
		h.buffers.Put(b)
	}
}
