// node solve.mjs FILE...: solves linear programs in CPLEX LP format with HiGHS and
// prints one line of JSON for each, {"status", "objective"}.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = process.env.FAIRLEAD_HIGHS || dirname(fileURLToPath(import.meta.url));
const load = createRequire(join(here, "package.json"))("highs");
const highs = await load();

for (const file of process.argv.slice(2)) {
  const { Status, ObjectiveValue } = highs.solve(readFileSync(file, "utf8"), {
    output_flag: false,
    primal_feasibility_tolerance: 1e-9,
    dual_feasibility_tolerance: 1e-9,
  });
  console.log(JSON.stringify({ status: Status, objective: ObjectiveValue }));
}
