package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validationReport is what validate found. Its JSON is for scripts.
type validationReport struct {
	Objects []objectVerdict   `json:"objects"`
	Summary validationSummary `json:"summary"`
}

type validationSummary struct {
	Valid    int `json:"valid"`
	Invalid  int `json:"invalid"`
	Warnings int `json:"warnings"`

	// OtherKinds counts objects that are not ours, which are not judged.
	OtherKinds int `json:"otherKinds"`
}

// objectVerdict is about one object, or about a document that cannot be read.
type objectVerdict struct {
	File     string `json:"file"`
	Document int    `json:"document"`

	// Item is the object's place in the document, if that is a list.
	Item string `json:"item,omitempty"`

	APIVersion string       `json:"apiVersion,omitempty"`
	Kind       string       `json:"kind,omitempty"`
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name,omitempty"`
	Valid      bool         `json:"valid"`
	Errors     []fieldError `json:"errors,omitempty"`
	Warnings   []string     `json:"warnings,omitempty"`
}

// fieldError is a reason for a refusal.
type fieldError struct {
	// Field is in the object's field names; empty for the whole object.
	Field string `json:"field,omitempty"`

	Message string `json:"message"`
}

func errorOf(err *field.Error) fieldError {
	path := err.Field
	if path == "<nil>" {
		path = ""
	}
	return fieldError{Field: path, Message: oneLine(err.ErrorBody())}
}

func unreadable(file string, document int, err error) objectVerdict {
	return objectVerdict{File: file, Document: document, Errors: []fieldError{{Message: oneLine(err.Error())}}}
}

func (r *validationReport) add(verdict objectVerdict) {
	r.Objects = append(r.Objects, verdict)
	r.Summary.Warnings += len(verdict.Warnings)
	if verdict.Valid {
		r.Summary.Valid++
	} else {
		r.Summary.Invalid++
	}
}

func (s validationSummary) String() string {
	text := fmt.Sprintf("%d valid, %d invalid, %d warnings", s.Valid, s.Invalid, s.Warnings)
	if s.OtherKinds > 0 {
		text += fmt.Sprintf("; of other kinds, not judged: %d", s.OtherKinds)
	}
	return text
}

// object names what the verdict is about.
func (v objectVerdict) object() string {
	name := v.Name
	if v.Namespace != "" {
		name = v.Namespace + "/" + name
	}
	return strings.TrimSpace(v.Kind + " " + name)
}

// place is where it is in the file.
func (v objectVerdict) place() string {
	if v.Item == "" {
		return fmt.Sprint(v.Document)
	}
	return fmt.Sprintf("%d %s", v.Document, v.Item)
}

func (v objectVerdict) result() string {
	if v.Valid {
		return "valid"
	}
	return "invalid"
}

func writeVerdicts(w io.Writer, report validationReport, format string) error {
	switch format {
	case formatJSONName:
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	case formatJUnitName:
		return writeJUnit(w, report)
	}
	return writeTable(w, report)
}

// writeTable writes a line for each valid object, and one for each error and warning.
func writeTable(w io.Writer, report validationReport) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(report.Objects) > 0 {
		fmt.Fprintln(table, "FILE\tDOCUMENT\tOBJECT\tRESULT\tFIELD\tMESSAGE")
	}
	for _, v := range report.Objects {
		line := func(result, field, message string) {
			fmt.Fprintln(table, strings.Join([]string{v.File, v.place(), orDash(v.object()), result, orDash(field), orDash(message)}, "\t"))
		}
		if v.Valid {
			line(v.result(), "", "")
		}
		for _, err := range v.Errors {
			line(v.result(), err.Field, err.Message)
		}
		for _, warning := range v.Warnings {
			line("warning", "", warning)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, report.Summary)
	return err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// The elements of JUnit's format that build servers agree on.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class    string         `xml:"classname,attr"`
		Name     string         `xml:"name,attr"`
		Failures []junitFailure `xml:"failure"`
		Out      string         `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each file and a case for each object.
func writeJUnit(w io.Writer, report validationReport) error {
	var out junitSuites
	for _, v := range report.Objects {
		if n := len(out.Suites); n == 0 || out.Suites[n-1].Name != v.File {
			out.Suites = append(out.Suites, junitSuite{Name: v.File})
		}
		suite := &out.Suites[len(out.Suites)-1]
		c := junitCase{Class: v.File, Name: strings.TrimSuffix(fmt.Sprintf("document %s: %s", v.place(), v.object()), ": "), Out: strings.Join(v.Warnings, "\n")}
		for _, err := range v.Errors {
			message := strings.TrimPrefix(err.Field+": "+err.Message, ": ")
			c.Failures = append(c.Failures, junitFailure{Message: message, Text: message})
		}
		suite.Tests++
		if !v.Valid {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
