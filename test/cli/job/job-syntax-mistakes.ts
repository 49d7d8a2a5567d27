import { FIELDS, type Mistaken } from "./job-file-mistakes.ts";

/** Text that is no YAML, or YAML that a job file may not use. */
export const mistakenYamlSyntax: readonly Mistaken[] = [
  [
    "a tab for indentation",
    ["objective: Do it", "budgets:", "\tmax_steps: 5", ""],
    ["3:1  A tab cannot indent in YAML: use spaces."],
  ],
  [
    "two documents",
    ["objective: Do it", "---", "objective: Another", ""],
    ["2:1  A second document starts here: a job file holds one, so remove what follows."],
  ],
  [
    "an alias of nothing",
    ["objective: Do it", "input:", "  a: *nobody", ""],
    ["3:3  input.a: refers to *nobody, but no complete &nobody comes before it: write the value out."],
  ],
  [
    "an alias of what it is in",
    ["objective: Do it", "input: &all [1, *all]", ""],
    ["2:17  input[1]: refers to *all, but no complete &all comes before it: write the value out."],
  ],
  [
    "aliases that grow tenfold and tenfold again",
    [
      "objective: Do it",
      "input:",
      "  a: &a [x, x, x, x, x, x, x, x, x, x]",
      "  b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]",
      "  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]",
      "  d: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]",
      "",
    ],
    ["1:1  The aliases of this file expand to too much: write the values out."],
  ],
  [
    "a tag of its own",
    ["objective: Do it", "input: !secret x", ""],
    ["2:8  This tag is not supported: remove it, and use quotes to make a string."],
  ],
  [
    "a date with its tag",
    ["objective: Do it", "input:", "  due: !!timestamp 2026-01-01", ""],
    ["3:8  This tag is not supported: remove it, and use quotes to make a string."],
  ],
  [
    "bytes with their tag",
    ["objective: Do it", "input: !!binary aGk=", ""],
    ["2:8  This tag is not supported: remove it, and use quotes to make a string."],
  ],
  [
    "a merge of another object",
    ["objective: Do it", "input:", "  <<: {a: 1}", ""],
    ['3:3  input["<<"]: merges another object, which is not supported: write the fields out.'],
  ],
  [
    "a list for a name",
    ["objective: Do it", "input:", "  [a, b]: 1", ""],
    ["3:3  The name of a field must be a string."],
  ],
  [
    "a colon in an unquoted text",
    ["objective: Fetch: all pages", ""],
    ["1:12  A value that contains a colon must be in quotes, and an object starts on its own line."],
  ],
  [
    "a quote that is never closed",
    ["objective: Do it", 'pipeline: "report', ""],
    ["3:1  A string that starts with a quote is not closed before this point."],
  ],
  [
    "a bracket that is never closed",
    ["objective: Do it", "budgets: {max_steps: 5", ""],
    [
      "3:1  The indentation is wrong here, or a bracket above is not closed: fields of one object start in the same column.",
    ],
  ],
  [
    "a field with the wrong indentation",
    ["objective: Do it", "budgets:", "    max_steps: 5", "  max_tokens: 5", ""],
    [
      "4:1  The indentation is wrong here, or a bracket above is not closed: fields of one object start in the same column.",
    ],
  ],
  [
    "a text that begins like nothing does",
    ["objective: Do it", "pipeline: @report", ""],
    ["2:11  A value cannot start with this character: put it in quotes."],
  ],
  [
    "an escape that is none",
    ["objective: Do it", 'pipeline: "a\\qb"', ""],
    ["2:13  This escape is not valid in double quotes: write \\\\ for a backslash."],
  ],
  [
    "a control character",
    ["objective: Do it", "pipeline: a\u0007b", ""],
    ["2:12  There is a control character here: remove it."],
  ],
  [
    "a directive",
    ["%FOO bar", "---", "objective: Do it", ""],
    ["1:1  A line that starts with % has no meaning in a job: remove it."],
  ],
];

/** Mistakes in job files that are JSON. */
export const mistakenJson: readonly Mistaken[] = [
  ["no objective", ["", "", "  {}"], ["3:3  objective: is missing: a RunSpec needs it."]],
  ["nothing in it", [" ", ""], ["job.json is empty: write at least an objective."]],
  ["no object", ["null", ""], [`1:1  The job must be an object, not null: its fields are ${FIELDS}.`]],
  [
    "no end",
    ["{", '  "objective": "x"'],
    ["2:19  Expected a comma or a closing }, but found the end of the file."],
  ],
  [
    "a comma too much",
    ["{", '  "objective": "x",', "}", ""],
    ["3:1  Expected a name in double quotes, but found `}`: leave out the comma before it."],
  ],
  [
    "a comma too few",
    ["{", '  "objective": "x"', '  "pipeline": "y"', "}", ""],
    ['3:3  Expected a comma or a closing }, but found `"`.'],
  ],
  [
    "single quotes",
    ["{'objective': 'x'}", ""],
    ["1:2  Expected a name in double quotes, but found `'`: JSON allows only double quotes."],
  ],
  [
    "names without quotes",
    ['{ objective: "x" }', ""],
    ["1:3  Expected a name in double quotes, but found `o`."],
  ],
  [
    "a comment",
    ["{", "  // what", '  "objective": "x"', "}", ""],
    ["2:3  Expected a name in double quotes, but found `/`: JSON has no comments."],
  ],
  ["YAML in it", ["objective: Do it", ""], ["1:1  Expected a value, but found `o`."]],
  [
    "something behind the end",
    ['{"objective": "x"}', "{}", ""],
    ["2:1  Expected the end of the file, but found `{`."],
  ],
  [
    "a line break in a text",
    ['{"objective": "x', 'y"}', ""],
    [
      "1:15  The string that starts here is not valid JSON: look for a missing quote, a line break or a wrong escape in it.",
    ],
  ],
  [
    "a number as JavaScript has it",
    ["{", '  "objective": "Do it",', '  "budgets": { "maxSteps": NaN }', "}", ""],
    ["3:28  Expected a value, but found `N`."],
  ],
  [
    "a number with a leading zero",
    ["{", '  "objective": "Do it",', '  "budgets": { "maxSteps": 05 }', "}", ""],
    ["3:29  Expected a comma or a closing }, but found `5`."],
  ],
  [
    "a field twice",
    ["{", '  "objective": "Do it",', '  "pipeline": "a", "pipeline": "b"', "}", ""],
    ["3:20  pipeline: is written twice: leave one of them out."],
  ],
  [
    "wrong values",
    [
      "{",
      '  "objective": "Do it",',
      '  "budgets": { "maxSteps": 0 },',
      '  "stopConditions": [',
      '    "ok",',
      '    "not ok"',
      "  ]",
      "}",
      "",
    ],
    [
      "3:16  budgets.maxSteps: must be a whole number from 1 to 1000000, or null for no limit, not 0.",
      '6:5  stopConditions[1]: must be a name of 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter, not the text "not ok".',
    ],
  ],
  [
    "names that every object has",
    ["{", '  "objective": "Do it",', '  "__proto__": {}, "toString": 1', "}", ""],
    [
      `3:3  __proto__: is no field of a RunSpec: it has ${FIELDS}.`,
      `3:20  toString: is no field of a RunSpec: it has ${FIELDS}.`,
    ],
  ],
  [
    "half a character",
    ["{", '  "objective": "Do it",', '  "input": { "a": ["\\ud800"] }', "}", ""],
    ["3:20  input.a[0]: is a string with a lone surrogate."],
  ],
];
