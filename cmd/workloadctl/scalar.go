package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// kubectl and the API server read YAML 1.1 as go.yaml.in/yaml/v2 does. What a scalar means is decided here by the same rules,
// with one difference: a number keeps its digits, where that library goes through a float64.

// literal returns what a YAML scalar means, as JSON.
func literal(n *yaml.Node) ([]byte, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return taggedLiteral(n)
	}
	if isPlain(n) {
		if word, ok := words[n.Value]; ok {
			return []byte(word), nil
		}
		number, isNumber, err := jsonNumber(n.Value)
		if isNumber || err != nil {
			return []byte(number), err
		}
	}
	return quoted(n.Value)
}

func isPlain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// words are the plain scalars that mean something else than themselves.
var words = func() map[string]string {
	all := map[string]string{"": "null", "~": "null"}
	for meaning, spellings := range map[string][]string{
		"true": {"true", "yes", "on", "y"}, "false": {"false", "no", "off", "n"}, "null": {"null"},
	} {
		for _, word := range spellings {
			all[word], all[strings.ToUpper(word)], all[strings.ToUpper(word[:1])+word[1:]] = meaning, meaning, meaning
		}
	}
	return all
}()

// taggedLiteral reads a scalar that says what it is. A tag that YAML does not define says nothing.
func taggedLiteral(n *yaml.Node) ([]byte, error) {
	word, isWord := words[n.Value]
	number, isNumber, _ := jsonNumber(n.Value)
	switch tag := n.ShortTag(); {
	case tag == "!!null" && word == "null", tag == "!!bool" && isWord && word != "null":
		return []byte(word), nil
	case isNumber && (tag == "!!float" || tag == "!!int" && !strings.ContainsAny(number, ".eE")):
		return []byte(number), nil
	case tag == "!!float" && validNumber.MatchString(n.Value):
		return []byte(n.Value), nil // larger than a float64; see numberNode
	case tag == "!!null", tag == "!!bool", tag == "!!int", tag == "!!float":
		return nil, fmt.Errorf("line %d: %q is no %s", n.Line, n.Value, tag)
	case tag == "!!binary":
		text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil || !utf8.Valid(text) {
			return nil, fmt.Errorf("line %d: a !!binary value that is not the base64 of a text", n.Line)
		}
		return quoted(string(text))
	}
	return quoted(n.Value)
}

var (
	validNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	looseFloat  = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	notFinite   = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

var errNotFinite = errors.New("JSON has no infinite numbers and no .nan")

// jsonNumber returns a plain scalar as a JSON number if it is a number, with its digits as they are if JSON can say them so.
func jsonNumber(text string) (number string, ok bool, err error) {
	if text == "" || strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return "", false, nil
	}
	if notFinite.MatchString(text) {
		return "", false, errNotFinite
	}
	digits := strings.ReplaceAll(text, "_", "")
	if text[0] == '.' && !isFloat(text) {
		return "", false, nil
	}
	if isFloat(digits) && validNumber.MatchString(digits) {
		return digits, true, nil
	}
	if value, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return strconv.FormatInt(value, 10), true, nil
	}
	if value, err := strconv.ParseUint(digits, 0, 64); err == nil {
		return strconv.FormatUint(value, 10), true, nil
	}
	if isFloat(digits) && looseFloat.MatchString(digits) {
		return normalNumber(digits), true, nil
	}
	number, ok = binaryNumber(digits)
	return number, ok, nil // not ok if it is too large for kubectl too, and so a text
}

// isFloat reports whether a number is one that a float64 can have, with fewer digits maybe.
func isFloat(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// binaryNumber reads what kubectl takes for a binary number though it has a sign after the prefix.
func binaryNumber(text string) (number string, ok bool) {
	unsigned, negative := strings.CutPrefix(text, "-")
	digits, binary := strings.CutPrefix(unsigned, "0b")
	if negative {
		digits = "-" + digits
	}
	value, err := strconv.ParseInt(digits, 2, 64)
	return strconv.FormatInt(value, 10), binary && err == nil
}

// normalNumber writes a number as JSON has it: no plus, no zeros in front, and digits on both sides of the point.
func normalNumber(text string) string {
	text = strings.TrimPrefix(text, "+")
	unsigned, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := unsigned, ""
	if at := strings.IndexAny(unsigned, "eE"); at >= 0 {
		mantissa, exponent = unsigned[:at], unsigned[at:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	if negative {
		whole = "-" + whole
	}
	return whole + fraction + exponent
}

// keyName returns the member name that a key of a YAML mapping becomes.
func keyName(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("line %d: a key that is not a single value", n.Line)
	}
	if isPlain(n) && n.ShortTag() != "!!str" && notFinite.MatchString(n.Value) {
		return strings.ToLower(strings.TrimPrefix(n.Value, "+")), nil
	}
	text, err := literal(n)
	if err != nil {
		return "", err
	}
	switch text[0] {
	case '"':
		return stringOf(text), nil
	case 'n':
		return "", fmt.Errorf("line %d: a key without a name", n.Line)
	case 't', 'f':
		return string(text), nil
	}
	return numberKey(string(text)), nil
}

// numberKey writes a number that is a key as kubectl does.
func numberKey(number string) string {
	if value, err := strconv.ParseInt(number, 10, 64); err == nil {
		return strconv.FormatInt(value, 10)
	}
	if _, err := strconv.ParseUint(number, 10, 64); err == nil {
		return number
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	switch text := strconv.FormatFloat(value, 'g', -1, 32); text {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	default:
		return text
	}
}
