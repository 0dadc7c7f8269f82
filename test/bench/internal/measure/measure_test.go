package measure

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

func TestProcessorSeconds(t *testing.T) {
	before := time.Now()
	for time.Since(before) < 50*time.Millisecond { // something to measure
	}
	spent, err := ProcessorSeconds(os.Getpid())
	if err != nil || spent <= 0 || spent > 3600 {
		t.Errorf("%g seconds, %v", spent, err)
	}
	if _, err := ProcessorSeconds(-1); err == nil {
		t.Error("a process that is none has a processor time")
	}
}

func TestMemoryMiB(t *testing.T) {
	now, err := MemoryMiB(os.Getpid(), Resident)
	if err != nil || now < 1 {
		t.Errorf("%g MiB, %v", now, err)
	}
	peak, err := MemoryMiB(os.Getpid(), ResidentPeak)
	if err != nil || peak < now/2 {
		t.Errorf("%g MiB at most and %g now, %v", peak, now, err)
	}
	if _, err := MemoryMiB(os.Getpid(), "VmNone"); err == nil {
		t.Error("a figure that does not exist was read")
	}
}

func TestSamples(t *testing.T) {
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte("# HELP a_total x\na_total{b=\"c d\"} 1\na_total{b=\"e\"} 2.5\nab 7\nbad x\n"))
	}))
	defer server.Close()
	samples, err := Scrape(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := samples.Sum("a_total{"); sum != 3.5 || err != nil {
		t.Errorf("got %g, %v", sum, err)
	}
	for _, wrong := range []string{"none", "bad "} {
		if _, err := samples.Sum(wrong); err == nil {
			t.Errorf("%q has a sum", wrong)
		}
	}
	code = http.StatusForbidden
	if _, err := Scrape(t.Context(), server.URL); err == nil {
		t.Error("a refusal was read")
	}
}
