package conversion

import (
	"bytes"
	"strconv"
)

// rewrite appends the other version's form of a value to dst. If it cannot read the value, it says why.
type rewrite func(dst, value []byte) (rewritten []byte, reason string)

// scalar is the reshape of one value into one value.
//
// The source's value is rewritten. What cannot be read, or would come back in another spelling, is parked. A parked
// original of the destination returns if it still means exactly what the source says now: nothing else decides
// whether it is stale.
func scalar(name string, toSpoke, toHub rewrite) *reshape {
	return &reshape{
		name: name,
		down: func(r *run, b *boundRow) { r.rewrite(b.hub[0], b.spoke[0], toSpoke, toHub) },
		up:   func(r *run, b *boundRow) { r.rewrite(b.spoke[0], b.hub[0], toHub, toSpoke) },
	}
}

func (r *run) rewrite(from, to int, there, back rewrite) {
	value := r.src.fields[from]
	if original := r.originals.fields[to]; original != nil {
		if meant, _ := r.rewritten(original, back); sameValue(meant, value) {
			r.dst[to] = original
			return
		}
	}
	if value == nil {
		return
	}
	out, reason := r.rewritten(value, there)
	r.dst[to] = out
	if out == nil {
		r.quarantine(r.from.fields[from], value, reason)
		return
	}
	if again, _ := r.rewritten(out, back); !sameValue(again, value) {
		r.parked.fields[from] = value
	}
}

// rewritten runs f on a value; the result is nil if f cannot read it.
func (r *run) rewritten(value []byte, f rewrite) ([]byte, string) {
	start := len(r.scratch)
	out, reason := f(r.scratch, value)
	if reason != "" {
		return nil, reason
	}
	r.scratch = out
	return out[start:len(out):len(out)], ""
}

// renamed is the reshape of an enumeration: pairs of hub and spoke names. Any other value is copied.
func renamed(name string, pairs ...string) *reshape {
	pick := func(from, to int) rewrite {
		return func(dst, value []byte) ([]byte, string) {
			if isString(value) {
				text := plain(value)
				for i := 0; i < len(pairs); i += 2 {
					if string(text) == pairs[i+from] {
						return appendQuoted(dst, []byte(pairs[i+to])), ""
					}
				}
			}
			return append(dst, value...), ""
		}
	}
	return scalar(name, pick(0, 1), pick(1, 0))
}

// inverted is the reshape of a switch with the opposite sense. Null stays null.
var inverted = scalar("inverted", invert, invert)

func invert(dst, value []byte) ([]byte, string) {
	switch value[0] {
	case 't':
		return append(dst, "false"...), ""
	case 'f':
		return append(dst, "true"...), ""
	case 'n':
		return append(dst, value...), ""
	}
	return dst, "is neither true nor false"
}

// percent is a whole number in the hub and the same number with a percent sign in the spoke.
var percent = scalar("percent", numberWith('%'), numberBefore("is not a whole number with a percent sign", func(unit byte) int64 {
	if unit == '%' {
		return 1
	}
	return 0
}))

// duration is a whole number of seconds in the hub and a number with a unit (s, m, h) in the spoke.
var duration = scalar("duration", numberWith('s'), numberBefore("is not a whole number and s, m or h", secondsIn))

func secondsIn(unit byte) int64 {
	switch unit {
	case 's':
		return 1
	case 'm':
		return 60
	case 'h':
		return 3600
	}
	return 0
}

// numberWith writes a whole number as a string with a unit.
func numberWith(unit byte) rewrite {
	return func(dst, value []byte) ([]byte, string) {
		if isNull(value) {
			return append(dst, value...), ""
		}
		if _, ok := wholeNumber(value); !ok {
			return dst, "is not a whole number"
		}
		dst = append(append(dst, '"'), value...)
		return append(dst, unit, '"'), ""
	}
}

// numberBefore reads what numberWith writes, in any unit worth factor(unit) of the number; 0 means it is no unit.
func numberBefore(reason string, factor func(unit byte) int64) rewrite {
	return func(dst, value []byte) ([]byte, string) {
		if isNull(value) {
			return append(dst, value...), ""
		}
		if !isString(value) {
			return dst, reason
		}
		text := plain(value)
		if len(text) < 2 {
			return dst, reason
		}
		unit := factor(text[len(text)-1])
		number, ok := wholeNumber(text[:len(text)-1])
		if !ok || unit == 0 || number*unit/unit != number {
			return dst, reason
		}
		return strconv.AppendInt(dst, number*unit, 10), ""
	}
}

// wholeNumber reads decimal digits with an optional minus, as far as an int64 holds them.
func wholeNumber(text []byte) (number int64, ok bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 {
		return 0, false
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			return 0, false
		}
	}
	number, err := strconv.ParseInt(string(text), 10, 64)
	return number, err == nil
}

// podNames is a list of names in the hub and a list of objects with a name in the spoke.
var podNames = scalar("names to objects", namesToObjects, objectsToNames)

func namesToObjects(dst, value []byte) ([]byte, string) {
	return eachElement(dst, value, "is not a list of names", func(dst, element []byte) []byte {
		if !isString(element) {
			return dst
		}
		return append(append(append(dst, `{"name":`...), element...), '}')
	})
}

func objectsToNames(dst, value []byte) ([]byte, string) {
	return eachElement(dst, value, "is not a list of objects with a name", func(dst, element []byte) []byte {
		if name := valueOf(element, "name"); isString(name) {
			dst = append(dst, name...)
		}
		return dst
	})
}

// eachElement appends the list of what f makes of each element, without those it makes nothing of.
func eachElement(dst, list []byte, reason string, f func(dst, element []byte) []byte) ([]byte, string) {
	if isNull(list) {
		return append(dst, list...), ""
	}
	if !isArray(list) {
		return dst, reason
	}
	dst = append(dst, '[')
	start := len(dst)
	c := cursor{text: list}
	for c.enter(); c.more(']'); {
		before := len(dst)
		if before > start {
			dst = append(dst, ',')
		}
		separated := len(dst)
		if dst = f(dst, c.value()); len(dst) == separated {
			dst = dst[:before]
		}
	}
	return append(dst, ']'), ""
}

// valueOf returns a member of an object; the last one if the name repeats, nil if there is none.
func valueOf(object []byte, name string) (value []byte) {
	if !isObject(object) {
		return nil
	}
	c := cursor{text: object}
	for c.enter(); c.more('}'); {
		if key := c.name(); string(plain(key)) == name {
			value = c.value()
		} else {
			c.value()
		}
	}
	return value
}
