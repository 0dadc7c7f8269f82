package conversion

import (
	"encoding/binary"
	"math/bits"
)

// cursor reads JSON text that has been validated before: it never checks syntax, so it must never see text that
// jsontext has not accepted. It moves forward only and returns slices of the text, never copies.
type cursor struct {
	text []byte
	at   int
}

// member is one name and value of an object, as written. The name keeps its quotes.
type member struct {
	name, value []byte
}

// peek returns the first byte of what comes next.
func (c *cursor) peek() byte {
	for {
		switch b := c.text[c.at]; b {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return b
		}
	}
}

// enter steps into the object or array that comes next.
func (c *cursor) enter() {
	c.peek()
	c.at++
}

// more reports whether the object or array entered has another element, and steps out of it when not.
func (c *cursor) more() bool {
	switch c.peek() {
	case '}', ']':
		c.at++
		return false
	case ',':
		c.at++
		c.peek()
	}
	return true
}

// name returns the next member's name with its quotes and stops before the value.
func (c *cursor) name() []byte {
	start := c.at
	c.at = stringEnd(c.text, c.at)
	name := c.text[start:c.at]
	c.peek()
	c.at++ // the colon
	return name
}

// key is the next member's name as it means; see name.
func (c *cursor) key() []byte { return plain(c.name()) }

// value returns the next value as written.
func (c *cursor) value() []byte {
	switch c.peek() {
	case '"':
		start := c.at
		c.at = stringEnd(c.text, c.at)
		return c.text[start:c.at]
	case '{', '[':
		start := c.at
		c.at = nestedEnd(c.text, c.at)
		return c.text[start:c.at]
	}
	start := c.at
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return c.text[start:c.at]
		}
		c.at++
	}
	return c.text[start:]
}

// stringEnd returns the index after the string that starts at i. Most of an object is text in strings, so it looks at eight
// bytes at a time; annotations with JSON in them are full of escapes, so it handles all escapes of the eight.
func stringEnd(text []byte, i int) int {
	for i++; i+8 <= len(text); i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		found := bytesEqual(word, '"') | bytesEqual(word, '\\')
		for found != 0 {
			at := bits.TrailingZeros64(found) / 8
			if text[i+at] == '"' {
				return i + at + 1
			}
			if at == 7 {
				i++ // the escaped character is in the next eight
			}
			found &^= 0xffff << (at * 8)
		}
	}
	for ; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// bytesEqual sets the top bit of every byte of word that is b.
func bytesEqual(word uint64, b byte) uint64 {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	word ^= uint64(b) * ones
	return ^(((word & low) + low) | word | low)
}

// nestedEnd returns the index after the object or array that starts at i.
func nestedEnd(text []byte, i int) int {
	depth := 0
	for {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// deeperThan reports whether a valid value nests objects and arrays deeper than limit.
func deeperThan(value []byte, limit int) bool {
	if len(value) <= 2*limit {
		return false
	}
	depth := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i = stringEnd(value, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// isString, isObject and the like tell the JSON type of a value by its first byte; an absent value has none.
func isString(value []byte) bool { return len(value) > 0 && value[0] == '"' }
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }
func isArray(value []byte) bool  { return len(value) > 0 && value[0] == '[' }
func isNull(value []byte) bool   { return len(value) > 0 && value[0] == 'n' }
