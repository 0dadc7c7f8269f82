package monitoring

import (
	"regexp"
	"strings"
)

// Family is a metric as a process shows it.
type Family struct {
	// Type is counter, gauge, histogram, ...
	Type string
	Help string
	// Series are the labels of each series. Those of a histogram's buckets are there once for each bucket, without le.
	Series []map[string]string
}

var pair = regexp.MustCompile(`([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"`)

// Parse reads the text format of Prometheus, as far as tests need it: values and times are left out.
func Parse(text string) map[string]*Family {
	families := map[string]*Family{}
	of := func(name string) *Family {
		if families[name] == nil {
			families[name] = &Family{}
		}
		return families[name]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			of(name).Help = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(help)
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			of(name).Type = kind
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		name := line[:strings.IndexAny(line, "{ ")]
		labels := map[string]string{}
		for _, match := range pair.FindAllStringSubmatch(line[len(name):], -1) {
			if match[1] != "le" {
				labels[match[1]] = match[2]
			}
		}
		family := of(baseOf(families, name))
		family.Series = append(family.Series, labels)
	}
	return families
}

// baseOf is the name of the histogram or summary that a series is a part of, or the name itself.
func baseOf(families map[string]*Family, name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && families[base] != nil {
			return base
		}
	}
	return name
}
