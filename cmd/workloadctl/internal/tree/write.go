package tree

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Painter colours a text that is good, or not.
type Painter func(good bool, text string) string

// Write draws a tree.
func Write(w io.Writer, t *Tree, now time.Time, paint Painter) error {
	var out strings.Builder
	title := fmt.Sprintf("%s %s/%s", t.Root.Kind, t.Namespace, t.Root.Name)
	if len(t.Owners) > 0 {
		title += " (of " + strings.Join(t.Owners, ", ") + ")"
	}
	fmt.Fprintf(&out, "%s: %s\n", title, paint(t.Ready, t.Root.State))
	if t.Worst != "" {
		fmt.Fprintf(&out, "  %s\n", paint(false, t.Worst))
	}
	if t.Refused != "" {
		fmt.Fprintf(&out, "  %s\n", paint(false, t.Refused))
	}
	branches(&out, t.Root.Children, "", paint)
	if len(t.Conditions) > 0 {
		out.WriteString("Conditions:\n")
		for _, c := range t.Conditions {
			fmt.Fprintf(&out, "  %s\n", strings.TrimRight(fmt.Sprintf("%-20s %-7s %-26s %s", c.Type, c.Status, c.Reason, c.Message), " "))
		}
	}
	if len(t.Events) > 0 {
		out.WriteString("Events:\n")
		for _, e := range t.Events {
			fmt.Fprintf(&out, "  %-5s %s %s: %s: %s\n", duration.HumanDuration(now.Sub(e.Time)), paint(e.Type == "Normal", e.Type), e.Object, e.Reason, e.Message)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func branches(out *strings.Builder, nodes []*Node, indent string, paint Painter) {
	for i, node := range nodes {
		mark, below := "|- ", "|  "
		if i == len(nodes)-1 {
			mark, below = "`- ", "   "
		}
		line := indent + mark + node.Kind + " " + node.Name
		if node.State != "" {
			line += ": " + paint(node.Ready, node.State)
		}
		out.WriteString(line + "\n")
		branches(out, node.Children, indent+below, paint)
	}
}
