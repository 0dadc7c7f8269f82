package conversion

import (
	"context"
	"errors"
	"fmt"
)

const reviewVersion = "apiextensions.k8s.io/v1"

// review is a ConversionReview with a request.
type review struct {
	apiVersion, kind []byte // JSON values, nil if absent
	uid              []byte // JSON value, nil if absent
	desired          string
	objects          cursor // at the list of objects, empty if there is none
}

// readReview takes a request's body apart; false if it is no JSON object with a request in it. convert is called once the list
// of objects is reached and it is known what to convert to, which saves going over the list twice; it moves the cursor behind
// the list. What it makes of the list must not be used if the body turns out to be no JSON.
func readReview(body []byte, convert func(*cursor, string)) (r review, ok bool) {
	c := cursor{text: body}
	if c.peek() != '{' {
		return r, false
	}
	for c.enter(); c.more('}'); {
		switch name := c.key(); string(name) {
		case "apiVersion":
			r.apiVersion = c.value()
		case "kind":
			r.kind = c.value()
		case "request":
			ok = r.readRequest(&c, convert)
		default:
			c.value()
		}
	}
	return r, ok && c.done()
}

func (r *review) readRequest(c *cursor, convert func(*cursor, string)) bool {
	r.uid, r.desired, r.objects = nil, "", cursor{}
	if c.peek() != '{' {
		c.value()
		return false
	}
	ok := true
	for c.enter(); c.more('}'); {
		switch name := c.key(); string(name) {
		case "uid":
			r.uid = c.value()
			ok = ok && isString(r.uid)
		case "desiredAPIVersion":
			if value := c.value(); isString(value) {
				r.desired = string(plain(value))
			}
		case "objects":
			ok = r.readObjects(c, convert) && ok
		default:
			c.value()
		}
	}
	return ok
}

func (r *review) readObjects(c *cursor, convert func(*cursor, string)) bool {
	r.objects = cursor{}
	if c.peek() != '[' {
		return isNull(c.value())
	}
	r.objects = *c
	if r.desired == "" {
		c.value()
	} else {
		convert(c, r.desired)
	}
	return true
}

// answer is what the handler says to a review.
type answer struct {
	body           []byte
	kind, from, to string // empty if not ours
	objects        int
	err            error

	kept                         []int // sizes of kept annotations
	quarantined, malformed, lost int   // counts of objects
	panicked                     bool
}

// answer reads a review and converts every object. The first that is not of a kind and version of ours fails the review: the API
// server knows no partial failure. ok is false if the body is no review at all.
func (h *handler) answer(ctx context.Context, room *share, dst, body []byte) (a answer, ok bool) {
	var converted struct {
		answer
		from cursor
	}
	convertFrom := func(c *cursor, desired string) {
		converted.from = *c
		converted.answer = answer{to: desired, body: append(dst, `"convertedObjects":[`...)}
		converted.err = h.convertAll(ctx, room, &converted.answer, c)
	}
	r, ok := readReview(body, convertFrom)
	if !ok {
		return a, false
	}
	switch {
	case !r.supported():
		a = answer{to: r.desired, body: dst}
		a.err = fmt.Errorf("%s of %s is not supported: use ConversionReview of %s", valueOr(r.kind, "an object without kind"),
			valueOr(r.apiVersion, "no version"), reviewVersion)
	case r.objects.text == nil:
		a = answer{to: r.desired, body: append(dst, `"convertedObjects":[`...)}
	default:
		if converted.to != r.desired || converted.from.at != r.objects.at {
			convertFrom(&r.objects, r.desired)
		}
		a = converted.answer
	}
	return r.close(a, len(dst)), true
}

// close ends the answer; what precedes start is the head, which all answers share.
func (r review) close(a answer, start int) answer {
	if a.err != nil {
		a.body = append(a.body[:start], `"result":{"metadata":{},"status":"Failure","message":`...)
		a.body = append(appendQuoted(a.body, []byte(a.err.Error())), '}')
	} else {
		a.body = append(closeArray(a.body), `,"result":{"metadata":{},"status":"Success"}`...)
	}
	a.body = append(append(a.body, `,"uid":`...), valueOr(r.uid, `""`)...)
	version := r.apiVersion
	if !isString(version) {
		version = []byte(`"` + reviewVersion + `"`)
	}
	a.body = append(append(append(a.body, `},"apiVersion":`...), version...), '}')
	return a
}

// supported reports whether it is a review of the version that this handler knows.
func (r review) supported() bool {
	return isString(r.apiVersion) && string(plain(r.apiVersion)) == reviewVersion &&
		isString(r.kind) && string(plain(r.kind)) == "ConversionReview"
}

// convertAll converts the list at the cursor and leaves the cursor behind it.
func (h *handler) convertAll(ctx context.Context, room *share, a *answer, c *cursor) error {
	list := *c
	var last lastRoute
	for c.enter(); c.more(']'); a.objects++ {
		err := ctx.Err()
		switch {
		case err != nil:
		case !room.grow(h.inFlight, int64(len(a.body))):
			err = errNoRoom
		case c.peek() != '{':
			err = errors.New("not a JSON object")
		default:
			err = h.convertOne(a, c, &last)
		}
		if err != nil {
			*c = list
			c.value()
			return fmt.Errorf("object %d: %w", a.objects, err)
		}
	}
	return nil
}

// convertOne appends one object to the answer. A panic, which would be a mistake of ours, fails the review and no other.
func (h *handler) convertOne(a *answer, c *cursor, last *lastRoute) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.panicked = true
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	body, result, err := h.convert.append(a.body, c, a.to, last)
	if err != nil {
		return err
	}
	if a.kind == "" {
		a.kind, a.from = last.route.kind, last.from
	}
	a.body = append(body, ',')
	a.note(result)
	return nil
}

func (a *answer) note(r Result) {
	if r.KeptBytes > 0 {
		a.kept = append(a.kept, r.KeptBytes)
	}
	if len(r.Quarantined) > 0 {
		a.quarantined++
	}
	if r.Malformed > 0 {
		a.malformed++
	}
	if len(r.Lost) > 0 {
		a.lost++
	}
}

func closeArray(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst[last] = ']'
		return dst
	}
	return append(dst, ']')
}

// result is the answer as a metric label.
func (a answer) result() string {
	if a.err != nil {
		return "failure"
	}
	return "success"
}
