package report

import (
	"fmt"
	"math"
	"strings"
)

// palette holds the jobs' colours. Any two of them differ by at least 0.1 in OKLab
// lightness and chroma for people with normal sight and, after the simulation of
// Machado, Oliveira and Fernandes (2009), with protanopia, deuteranopia and
// tritanopia; the first ones by the most. They were found by maximising that minimum
// over colours that can be told from a white and from a dark background.
var palette = [...]string{
	"#48a1db", "#e57431", "#68426b", "#c0c0a3", "#464cb2", "#5dcdfa",
	"#971922", "#fcaa2b", "#846797", "#af5840", "#b08f8c", "#6a72dd",
}

// textures tell jobs apart that have the same colour: drawn over it, in a tile of 6
// by 6. The first is none. After len(palette)·len(textures) jobs all repeats.
var textures = [...]string{
	"",
	`<path d="M-1 4 4-1M2 7 7 2" stroke="#fff" stroke-opacity=".75" stroke-width="1.5"/>`,
	`<circle cx="3" cy="3" r="1.3" fill="#fff" fill-opacity=".85"/>`,
}

const styles = len(palette) * len(textures)

// style is the number of a job's colour and texture.
func style(job int) int { return job % styles }

// jobStyles returns the style sheet and the patterns for jobs 0 to n-1.
func jobStyles(n int) (css, defs string) {
	var c, d strings.Builder
	for i := range min(n, styles) {
		colour, texture := palette[i%len(palette)], textures[i/len(palette)]
		fill := colour
		if texture != "" {
			fill = fmt.Sprintf("url(#c%d)", i)
			fmt.Fprintf(&d, `<pattern id="c%d" width="6" height="6" patternUnits="userSpaceOnUse"><path fill="%s" d="M0 0h6v6H0z"/>%s</pattern>`+"\n", i, colour, texture)
		}
		fmt.Fprintf(&c, ".c%d{fill:%s;stroke:%s}\n", i, fill, colour)
	}
	return c.String(), d.String()
}

// darkText says on which colours black is easier to read than white (relative
// luminance, WCAG 2).
var darkText = func() (dark [len(palette)]bool) {
	for i, c := range palette {
		r, g, b := rgb(c)
		luminance := float64(0.2126*r) + float64(0.7152*g) + float64(0.0722*b)
		dark[i] = (luminance+0.05)*(luminance+0.05) > 1.05*0.05
	}
	return dark
}()

// rgb is a colour in linear light.
func rgb(hex string) (r, g, b float64) {
	var c [3]uint8
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		panic(err) // a palette that is none
	}
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return linear(c[0]), linear(c[1]), linear(c[2])
}
