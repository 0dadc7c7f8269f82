package conversion

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// cursor reads JSON text once, from front to end, and checks the syntax of everything it passes. It returns slices of the
// text, never copies.
//
// After a mistake in the syntax it is bad and at the end of the text: loops over more end, names are empty and values null.
// So a reader needs to ask once, at the end; nothing that was made of a bad text may be used.
//
// What is JSON is what encoding/json takes: repeated names, text that is not UTF-8 and half surrogate pairs are allowed, and
// objects and arrays nest up to 10,000.
type cursor struct {
	text  []byte
	at    int
	depth int  // objects and arrays entered
	first bool // an object or array was entered and nothing of it read
	bad   bool
}

// member is one name and value of an object, as written. The name keeps its quotes.
type member struct {
	name, value []byte
}

// maxNesting is how deep objects and arrays may nest; the API server and encoding/json read no deeper.
const maxNesting = 10000

var (
	noName  = []byte(`""`)
	noValue = []byte(`null`)
)

// peek returns the first byte of what comes next; 0 at the end.
func (c *cursor) peek() byte {
	c.at = afterSpace(c.text, c.at)
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// enter steps into the object or array that comes next.
func (c *cursor) enter() {
	if b := c.peek(); b != '{' && b != '[' || c.depth == maxNesting {
		c.fail()
		return
	}
	c.at++
	c.depth++
	c.first = true
}

// more reports whether the object or array entered has another element, and steps out of it when not. end is the bracket
// that closes it.
func (c *cursor) more(end byte) bool {
	b := c.peek()
	first := c.first
	c.first = false
	switch {
	case b == end:
		c.at++
		c.depth--
		return false
	case first:
		return !c.bad
	case b == ',':
		c.at++
		return true // what is no element after all, name and value refuse
	}
	c.fail()
	return false
}

// name returns the next member's name with its quotes and stops before the value.
func (c *cursor) name() []byte {
	c.peek()
	start, end := c.at, stringEnd(c.text, c.at)
	colon := afterSpace(c.text, end)
	if end < 0 || colon >= len(c.text) || c.text[colon] != ':' {
		c.fail()
		return noName
	}
	c.at = colon + 1
	return c.text[start:end]
}

// key is the next member's name as it means; see name.
func (c *cursor) key() []byte { return plain(c.name()) }

// value returns the next value as written.
func (c *cursor) value() []byte {
	c.peek()
	start, end := c.at, valueEnd(c.text, c.at, maxNesting-c.depth)
	if end < 0 {
		c.fail()
		return noValue
	}
	c.at = end
	return c.text[start:end]
}

// unquoted appends to dst what the next value, a string, means. Half of a surrogate pair becomes U+FFFD, as in encoding/json.
func (c *cursor) unquoted(dst []byte) []byte {
	c.peek()
	rest := c.text[c.at+1:]
	for {
		dst, rest = appendOrdinary(dst, rest)
		switch {
		case len(rest) > 0 && rest[0] == '"':
			c.at = len(c.text) - len(rest) + 1
			return dst
		case len(rest) > 1 && rest[0] == '\\' && (rest[1] == '"' || rest[1] == '\\'):
			dst, rest = append(dst, rest[1]), rest[2:]
		case escapeEnd(rest, 0) < 0:
			c.fail()
			return dst
		default:
			r, size := escaped(rest)
			dst, rest = utf8.AppendRune(dst, r), rest[size:]
		}
	}
}

// done reports whether the text was JSON to its end.
func (c *cursor) done() bool {
	return c.peek() == 0 && c.at == len(c.text) && !c.bad
}

func (c *cursor) fail() { c.at, c.bad = len(c.text), true }

// validJSON reports whether text is one JSON value.
func validJSON(text []byte) bool {
	c := cursor{text: text}
	c.value()
	return c.done()
}

// The functions below return the index after something that starts at i, or invalid if the text has no such thing there. They
// take any i.
const invalid = -1

func afterSpace(text []byte, i int) int {
	for uint(i) < uint(len(text)) && text[i] <= ' ' && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// valueEnd finds the end of a value in which objects and arrays nest up to depth.
func valueEnd(text []byte, i, depth int) int {
	if uint(i) >= uint(len(text)) {
		return invalid
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{':
		return objectEnd(text, i, depth)
	case '[':
		return arrayEnd(text, i, depth)
	case 't':
		return wordEnd(text, i, "true")
	case 'f':
		return wordEnd(text, i, "false")
	case 'n':
		return wordEnd(text, i, "null")
	}
	return numberEnd(text, i)
}

func objectEnd(text []byte, i, depth int) int {
	if i = afterSpace(text, i+1); depth <= 0 || uint(i) >= uint(len(text)) {
		return invalid
	}
	if text[i] == '}' {
		return i + 1
	}
	for {
		i = afterSpace(text, stringEnd(text, i))
		if uint(i) >= uint(len(text)) || text[i] != ':' {
			return invalid
		}
		i = afterSpace(text, valueEnd(text, afterSpace(text, i+1), depth-1))
		if uint(i) >= uint(len(text)) {
			return invalid
		}
		switch text[i] {
		case ',':
			i = afterSpace(text, i+1)
		case '}':
			return i + 1
		default:
			return invalid
		}
	}
}

func arrayEnd(text []byte, i, depth int) int {
	if i = afterSpace(text, i+1); depth <= 0 || uint(i) >= uint(len(text)) {
		return invalid
	}
	if text[i] == ']' {
		return i + 1
	}
	for {
		i = afterSpace(text, valueEnd(text, i, depth-1))
		if uint(i) >= uint(len(text)) {
			return invalid
		}
		switch text[i] {
		case ',':
			i = afterSpace(text, i+1)
		case ']':
			return i + 1
		default:
			return invalid
		}
	}
}

func wordEnd(text []byte, i int, word string) int {
	if len(text)-i < len(word) || string(text[i:i+len(word)]) != word {
		return invalid
	}
	return i + len(word)
}

// numberEnd finds the end of a number: a minus, digits without a leading zero, a fraction, an exponent.
func numberEnd(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	digits := i
	if i = digitsEnd(text, i); i < 0 || text[digits] == '0' && i > digits+1 {
		return invalid
	}
	if i < len(text) && text[i] == '.' {
		if i = digitsEnd(text, i+1); i < 0 {
			return invalid
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		return digitsEnd(text, i)
	}
	return i
}

// digitsEnd finds the end of one or more digits.
func digitsEnd(text []byte, i int) int {
	start := i
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	if i == start {
		return invalid
	}
	return i
}

// stringEnd finds the end of a string. Most of an object is text in strings, so it looks at eight bytes at a time.
func stringEnd(text []byte, i int) int {
	if uint(i) >= uint(len(text)) || text[i] != '"' {
		return invalid
	}
	for i++; i+8 <= len(text); i += 8 {
		if special := bytesSpecial(binary.LittleEndian.Uint64(text[i:])); special != 0 {
			if i += bits.TrailingZeros64(special) / 8; text[i] == '"' {
				return i + 1
			}
			break
		}
	}
	return escapedEnd(text, i)
}

// escapedEnd finds the end of a string from the middle. Annotations with JSON in them are full of escaped quotes, which come too
// irregularly for a processor to guess a branch, so it looks at all of eight bytes at once. From one word to the next it carries
// only whether the first byte is escaped, so that a processor can work on several words at a time.
func escapedEnd(text []byte, i int) int {
	carry := uint64(0)
	for i+8 <= len(text) {
		word := binary.LittleEndian.Uint64(text[i:])
		quotes, backslashes := bytesEqual(word, '"'), bytesEqual(word, '\\')
		escaped := backslashes<<8 | carry
		switch {
		case escaped&^quotes|bytesControl(word) != 0: // more than escaped quotes
			i = firstSpecial(text, i-int(carry>>7))
			if carry = 0; text[i] == '"' {
				return i + 1
			}
			if i = escapeEnd(text, i); i < 0 {
				return invalid
			}
		case quotes&^escaped != 0:
			return i + bits.TrailingZeros64(quotes&^escaped)/8 + 1
		default:
			carry = backslashes >> 56
			i += 8
		}
	}
	return lastEnd(text, i-int(carry>>7))
}

// firstSpecial returns the index of the first quote, backslash or control character from i on, where one of eight bytes is one.
func firstSpecial(text []byte, i int) int {
	return i + bits.TrailingZeros64(bytesSpecial(binary.LittleEndian.Uint64(text[i:])))/8
}

// lastEnd is escapedEnd byte by byte.
func lastEnd(text []byte, i int) int {
	for i < len(text) {
		switch b := text[i]; {
		case b == '"':
			return i + 1
		case b == '\\' || b < ' ':
			if i = escapeEnd(text, i); i < 0 {
				return invalid
			}
		default:
			i++
		}
	}
	return invalid
}

// ones has a 1 in each byte of a word, tops the top bit.
const ones, tops = 0x0101010101010101, 0x8080808080808080

// bytesSpecial sets the top bit of the first byte of a word that is a quote, a backslash or a control character; bits above it mean
// nothing. Without such a byte it is 0.
func bytesSpecial(word uint64) uint64 {
	return (((word ^ '"'*ones) - ones) | ((word ^ '\\'*ones) - ones) | (word - ' '*ones)) &^ word & tops
}

// bytesControl is bytesSpecial for control characters alone.
func bytesControl(word uint64) uint64 { return (word - ' '*ones) &^ word & tops }

// bytesEqual sets the top bit of every byte of a word that is b.
func bytesEqual(word uint64, b byte) uint64 {
	word ^= uint64(b) * ones
	return ^((word&^tops + ^uint64(tops)) | word) & tops
}

// escapeEnd finds the end of an escape sequence.
func escapeEnd(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\\' {
		return invalid
	}
	switch text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 <= len(text) && isHex[text[i+2]] && isHex[text[i+3]] && isHex[text[i+4]] && isHex[text[i+5]] {
			return i + 6
		}
	}
	return invalid
}

var isHex = func() (table [256]bool) {
	for _, digit := range "0123456789abcdefABCDEF" {
		table[digit] = true
	}
	return table
}()

// deeperThan reports whether a valid value nests objects and arrays deeper than limit.
func deeperThan(value []byte, limit int) bool {
	return len(value) > 2*limit && valueEnd(value, afterSpace(value, 0), limit) < 0
}

// isString, isObject and the like tell the JSON type of a value by its first byte; an absent value has none.
func isString(value []byte) bool { return len(value) > 0 && value[0] == '"' }
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }
func isArray(value []byte) bool  { return len(value) > 0 && value[0] == '[' }
func isNull(value []byte) bool   { return len(value) > 0 && value[0] == 'n' }
