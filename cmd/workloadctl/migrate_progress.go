package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/example/workload-operator/controllers/migration"
)

const (
	barWidth = 30
	// barInterval and lineInterval are the least times between two updates of the same phase.
	barInterval  = 100 * time.Millisecond
	lineInterval = 5 * time.Second
)

// display shows progress: a bar on a terminal, a line now and then on one that can only print, and JSON lines where nobody watches.
type display struct {
	w        io.Writer
	terminal bool // on which a line can be written again
	json     bool
	last     migration.Progress
	at       time.Time
	open     bool // a bar is on the line
}

func newDisplay(w io.Writer, output string) *display {
	return &display{w: w, json: output == formatJSONName || !isTerminal(w), terminal: takesControls(w)}
}

// isTerminal says whether somebody watches.
func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// takesControls says whether somebody watches on a terminal that knows more than to print.
func takesControls(w any) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// observe shows what changed, but not every object.
func (d *display) observe(p migration.Progress) {
	interval := lineInterval
	if d.terminal && !d.json && p.Waiting == "" {
		interval = barInterval
	}
	news := p.Phase != d.last.Phase || p.CRD != d.last.CRD || p.Waiting != d.last.Waiting && !d.waitsOn(p)
	if p == d.last || !news && time.Since(d.at) < interval {
		return
	}
	d.last, d.at = p, time.Now()
	switch {
	case d.json:
		if text, err := json.Marshal(p); err == nil {
			fmt.Fprintln(d.w, string(text))
		}
	case d.terminal && p.Waiting == "":
		fmt.Fprint(d.w, "\r\x1b[K"+bar(p))
		d.open = true
	default:
		d.end()
		fmt.Fprintln(d.w, line(p))
	}
}

// waitsOn says that only the time that is left changed, which is no news.
func (d *display) waitsOn(p migration.Progress) bool {
	before, _, cut := strings.Cut(d.last.Waiting, " left")
	now, _, _ := strings.Cut(p.Waiting, " left")
	return cut && before[:strings.LastIndex(before, " ")+1] == now[:strings.LastIndex(now, " ")+1]
}

// end leaves the line of the bar.
func (d *display) end() {
	if d.open {
		fmt.Fprintln(d.w)
		d.open = false
	}
}

func bar(p migration.Progress) string {
	filled := 0
	if p.Total > 0 {
		filled = min(barWidth, barWidth*p.Done/p.Total)
	}
	return fmt.Sprintf("%s  [%s%s]", line(p), strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled))
}

func line(p migration.Progress) string {
	if p.Waiting != "" {
		return p.CRD + "  waiting for: " + p.Waiting
	}
	text := fmt.Sprintf("%s  %-10s  %d", p.CRD, p.Phase, p.Done)
	if p.Total > 0 {
		text += fmt.Sprintf("/%d", p.Total)
	}
	if p.Refused > 0 {
		text += fmt.Sprintf(", %d refused", p.Refused)
	}
	if p.Remaining > 0 {
		text += fmt.Sprintf(", %s left", p.Remaining)
	}
	return text
}
