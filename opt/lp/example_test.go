package lp_test

import (
	"fmt"
	"os"

	"github.com/fairlead-project/fairlead/opt/lp"
)

func ExampleModel_Write() {
	m := &lp.Model{
		Variables: []lp.Variable{{Name: "a/map", Cost: 2}, {Name: "a/reduce", Cost: 3}},
		Rows: []lp.Row{{
			Name:  "precedence",
			Terms: []lp.Term{{Var: 1, Coef: 1}, {Var: 0, Coef: -1}},
			Sense: lp.GreaterEqual, Bound: 0.5,
		}},
	}
	if err := m.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Minimize
	//  obj: + 2 x_a_map + 3 x_a_reduce
	// Subject To
	//  c_precedence: + 1 x_a_reduce - 1 x_a_map >= 0.5
	// End
}
