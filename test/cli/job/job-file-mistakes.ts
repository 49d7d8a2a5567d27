/** The mistake, the lines of the file, and the expected problems: line, column and the whole message, in this order. */
export type Mistaken = readonly [what: string, lines: readonly string[], problems: readonly string[]];

export const FIELDS =
  "objective, pipeline, input, constraints, budgets, stopConditions, escalation, artifacts";

/** Mistakes in the fields of job files that are YAML. */
export const mistakenYaml: readonly Mistaken[] = [
  ["nothing in it", [""], ["job.yaml is empty: write at least an objective."]],
  ["only comments in it", ["# later", "", ""], ["job.yaml is empty: write at least an objective."]],
  ["only the start of a document", ["---", ""], ["job.yaml is empty: write at least an objective."]],
  [
    "a byte order mark",
    ["\ufeffobjective: Do it", ""],
    ["job.yaml starts with a byte order mark: save it as UTF-8 without one."],
  ],
  [
    "a list instead of fields",
    ["- objective", ""],
    [`1:1  The job must be an object, not a list: its fields are ${FIELDS}.`],
  ],
  [
    "a text instead of fields",
    ["# the job", "just do it", ""],
    [`2:1  The job must be an object, not the text "just do it": its fields are ${FIELDS}.`],
  ],
  ["no objective", ["pipeline: report", ""], ["1:1  objective: is missing: a RunSpec needs it."]],
  [
    "an objective without a value",
    ["objective:", ""],
    ["1:1  objective: must be a text of 1 to 100000 characters that says what to do, not null."],
  ],
  [
    "a blank objective",
    ["objective: '  '", ""],
    ['1:1  objective: must be a text of 1 to 100000 characters that says what to do, not the text "  ".'],
  ],
  [
    "a number for an objective",
    ["objective: 12", ""],
    ["1:1  objective: must be a text of 1 to 100000 characters that says what to do, not 12."],
  ],
  [
    "a control character in the objective",
    ['objective: "a\\u0007b"', ""],
    ['1:1  objective: cannot be the text "a\\u0007b": leave out control characters.'],
  ],
  [
    "a misspelt field",
    ["objective: Do it", "constrants: {}", ""],
    ["2:1  constrants: is no field of a RunSpec: did you mean constraints?"],
  ],
  [
    "a misspelt field in snake_case",
    ["objective: Do it", "budgets:", "  max_stepz: 3", ""],
    ["3:3  budgets.max_stepz: is no field of budgets: did you mean max_steps?"],
  ],
  [
    "a field in kebab-case",
    ["objective: Do it", "budgets:", "  max-steps: 3", ""],
    ["3:3  budgets.max-steps: is no field of budgets: did you mean maxSteps?"],
  ],
  [
    "a field cut short",
    ["objective: Do it", "budgets:", "  retries: 3", ""],
    ["3:3  budgets.retries: is no field of budgets: did you mean maxRetriesPerToolCall?"],
  ],
  [
    "a field like no other",
    ["objective: Do it", "escalation:", "  zzz: true", ""],
    [
      "3:3  escalation.zzz: is no field of escalation: it has askHumanOnAmbiguousRecipient, askHumanOnAuthFailure, askHumanOnRepeatedFailures, askHumanOnBudgetReached.",
    ],
  ],
  [
    "a field that belongs in a section",
    ["objective: Do it", "max_steps: 3", ""],
    ["2:1  max_steps: is no field of a RunSpec: did you mean budgets.max_steps?"],
  ],
  [
    "a field that belongs at the top",
    ["objective: Do it", "budgets:", "  stop_conditions: []", ""],
    ["3:3  budgets.stop_conditions: is no field of budgets: did you mean stop_conditions at the top level?"],
  ],
  [
    "a field in both spellings",
    ["objective: Do it", "budgets:", "  max_steps: 5", "  maxSteps: 6", ""],
    ["4:3  budgets.maxSteps: is the same field as max_steps: leave one of them out."],
  ],
  [
    "a field twice",
    ["objective: Do it", "pipeline: a", "objective: Again", ""],
    ["3:1  objective: is written twice: leave one of them out."],
  ],
  [
    "a field twice deep in the input",
    ["objective: Do it", "input:", "  a: 1", "  b: {c: 1, c: 2}", ""],
    ["4:13  input.b.c: is written twice: leave one of them out."],
  ],
  [
    "counts below what makes sense",
    [
      "objective: Do it",
      "budgets:",
      "  max_steps: 0",
      "  max_tool_calls: -1",
      "  max_retries_per_tool_call: -1",
      "  max_same_error_repeats: 0",
      "  max_tokens: 0",
      "",
    ],
    [
      "3:3  budgets.max_steps: must be a whole number from 1 to 1000000, or null for no limit, not 0.",
      "4:3  budgets.max_tool_calls: must be a whole number from 0 to 10000000, or null for no limit, not -1.",
      "5:3  budgets.max_retries_per_tool_call: must be a whole number from 0 to 1000, or null for no limit, not -1.",
      "6:3  budgets.max_same_error_repeats: must be a whole number from 1 to 1000, or null for no limit, not 0.",
      "7:3  budgets.max_tokens: must be a whole number from 1 to 1000000000000, or null for no limit, not 0.",
    ],
  ],
  [
    "amounts below what makes sense",
    ["objective: Do it", "budgets:", "  max_wallclock_minutes: 0", "  max_cost_usd: 0", ""],
    [
      "3:3  budgets.max_wallclock_minutes: must be a number of minutes from 0.001 to 5256000 (ten years), or null for no limit, not 0.",
      "4:3  budgets.max_cost_usd: must be a number of US dollars from 0.000001 to 1000000, or null for no limit, not 0.",
    ],
  ],
  [
    "fractions of what is counted",
    ["objective: Do it", "budgets:", "  max_steps: 2.5", "  max_tokens: 1.000001", ""],
    [
      "3:3  budgets.max_steps: must be a whole number from 1 to 1000000, or null for no limit, not 2.5.",
      "4:3  budgets.max_tokens: must be a whole number from 1 to 1000000000000, or null for no limit, not 1.000001.",
    ],
  ],
  [
    "limits beyond all limits",
    [
      "objective: Do it",
      "budgets:",
      "  max_steps: 1e99",
      "  max_wallclock_minutes: 99999999",
      "  max_cost_usd: 1000001",
      "",
    ],
    [
      "3:3  budgets.max_steps: must be a whole number from 1 to 1000000, or null for no limit, not 1e+99.",
      "4:3  budgets.max_wallclock_minutes: must be a number of minutes from 0.001 to 5256000 (ten years), or null for no limit, not 99999999.",
      "5:3  budgets.max_cost_usd: must be a number of US dollars from 0.000001 to 1000000, or null for no limit, not 1000001.",
    ],
  ],
  [
    "no numbers and no end of numbers",
    ["objective: Do it", "budgets:", "  max_cost_usd: .inf", "  max_wallclock_minutes: .nan", ""],
    [
      "3:3  budgets.max_cost_usd: is Infinity, which JSON does not support: write a number.",
      "4:3  budgets.max_wallclock_minutes: is NaN, which JSON does not support: write a number.",
    ],
  ],
  [
    "a number in quotes",
    ["objective: Do it", "budgets:", "  max_steps: '50'", ""],
    [
      '3:3  budgets.max_steps: must be a whole number from 1 to 1000000, or null for no limit, not the text "50".',
    ],
  ],
  [
    "a limit that was forgotten",
    ["objective: Do it", "budgets:", "  max_steps:", "  max_tokens: 5", ""],
    ["3:3  budgets.max_steps: has no value: write one, or leave the field out."],
  ],
  [
    "a pipeline and a directory that were forgotten",
    ["objective: Do it", "pipeline:", "artifacts:", "  workspace_dir:", ""],
    [
      "2:1  pipeline: has no value: write one, or leave the field out.",
      "4:3  artifacts.workspace_dir: has no value: write one, or leave the field out.",
    ],
  ],
  [
    "a section without fields",
    ["objective: Do it", "budgets:", ""],
    [
      "2:1  budgets: must be an object, not null: its fields are maxWallclockMinutes, maxSteps, maxToolCalls, maxRetriesPerToolCall, maxSameErrorRepeats, maxTokens, maxCostUsd, countWaitingTime.",
    ],
  ],
  [
    "a number for a section",
    ["objective: Do it", "budgets: 5", ""],
    [
      "2:1  budgets: must be an object, not 5: its fields are maxWallclockMinutes, maxSteps, maxToolCalls, maxRetriesPerToolCall, maxSameErrorRepeats, maxTokens, maxCostUsd, countWaitingTime.",
    ],
  ],
  [
    "a list for a section",
    ["objective: Do it", "constraints: []", ""],
    [
      "2:1  constraints: must be an object, not a list: its fields are mustCiteSources, noDuplicateExternalActions, allowedDomains, forbiddenActions.",
    ],
  ],
  [
    "yes for true",
    [
      "objective: Do it",
      "constraints:",
      "  must_cite_sources: yes",
      "  no_duplicate_external_actions: 1",
      "",
    ],
    [
      '3:3  constraints.must_cite_sources: must be true or false, not the text "yes".',
      "4:3  constraints.no_duplicate_external_actions: must be true or false, not 1.",
    ],
  ],
  [
    "domains that are none",
    [
      "objective: Do it",
      "constraints:",
      "  allowed_domains:",
      "    - https://example.com",
      "    - ftp://x",
      "    - ''",
      "    - 5",
      "    - a b.com",
      "",
    ],
    [
      '4:7  constraints.allowed_domains[0]: must be a host such as "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private", not the text "https://example.com".',
      '5:7  constraints.allowed_domains[1]: must be a host such as "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private", not the text "ftp://x".',
      '6:7  constraints.allowed_domains[2]: must be a host such as "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private", not the text "".',
      '7:7  constraints.allowed_domains[3]: must be a host such as "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private", not 5.',
      '8:7  constraints.allowed_domains[4]: must be a host such as "example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private", not the text "a b.com".',
    ],
  ],
  [
    "a domain twice",
    ["objective: Do it", "constraints:", "  allowed_domains: [example.com, b.com, Example.COM]", ""],
    [
      '3:41  constraints.allowed_domains[2]: is the text "Example.COM", the same as [0]: leave one of them out.',
    ],
  ],
  [
    "a text for a list",
    ["objective: Do it", "constraints:", "  allowed_domains: example.com", ""],
    [
      '3:3  constraints.allowed_domains: must be a list of at most 1000 hosts such as "example.com", not the text "example.com".',
    ],
  ],
  [
    "actions that match nothing",
    ["objective: Do it", "constraints:", "  forbidden_actions: ['', ' send', ok, null, ok]", ""],
    [
      '3:23  constraints.forbidden_actions[0]: must be the name of a tool or a pattern, such as "send_email" or "github:*", without spaces at its ends, not the text "".',
      '3:27  constraints.forbidden_actions[1]: must be the name of a tool or a pattern, such as "send_email" or "github:*", without spaces at its ends, not the text " send".',
      '3:40  constraints.forbidden_actions[3]: must be the name of a tool or a pattern, such as "send_email" or "github:*", without spaces at its ends, not null.',
      '3:46  constraints.forbidden_actions[4]: is the text "ok", the same as [2]: leave one of them out.',
    ],
  ],
  [
    "unsafe names of conditions",
    [
      "objective: Do it",
      "stop_conditions:",
      "  - report created",
      "  - __proto__",
      "  - constructor",
      "  - sent",
      "  - sent",
      "",
    ],
    [
      '3:5  stop_conditions[0]: must be a name of 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter, not the text "report created".',
      '4:5  stop_conditions[1]: must be a name of 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter, not the text "__proto__".',
      '5:5  stop_conditions[2]: cannot be the text "constructor": every JavaScript object has a property of that name, so choose another.',
      '7:5  stop_conditions[4]: is the text "sent", the same as [3]: leave one of them out.',
    ],
  ],
  [
    "outputs outside of the workspace",
    [
      "objective: Do it",
      "artifacts:",
      "  expected_outputs:",
      "    - ../x",
      "    - /x",
      '    - "a\\0b"',
      "    - a//b",
      "    - C:\\x",
      "    - ''",
      "",
    ],
    [
      '4:7  artifacts.expected_outputs[0]: cannot be the text "../x": use a path inside the workspace, without "..", "." or an empty part.',
      '5:7  artifacts.expected_outputs[1]: cannot be the text "/x": use a path inside the workspace, without a leading /.',
      '6:7  artifacts.expected_outputs[2]: cannot be the text "a\\u0000b": leave out control characters and \\ : * ? " < > |.',
      '7:7  artifacts.expected_outputs[3]: cannot be the text "a//b": use a path inside the workspace, without "..", "." or an empty part.',
      '8:7  artifacts.expected_outputs[4]: cannot be the text "C:\\\\x": leave out control characters and \\ : * ? " < > |.',
      '9:7  artifacts.expected_outputs[5]: must be the path of a file in the workspace, such as "report.pdf", not the text "".',
    ],
  ],
  [
    "an output twice",
    ["objective: Do it", "artifacts:", "  expected_outputs: [report.pdf, Report.PDF]", ""],
    [
      '3:34  artifacts.expected_outputs[1]: is the text "Report.PDF", the same as [0]: leave one of them out.',
    ],
  ],
  [
    "an empty directory",
    ["objective: Do it", "artifacts:", "  workspace_dir: ''", ""],
    [
      '3:3  artifacts.workspace_dir: must be the path of a directory, or null for the default, not the text "".',
    ],
  ],
  [
    "a NUL in the directory",
    ["objective: Do it", "artifacts:", '  workspace_dir: "a\\0b"', ""],
    [
      '3:3  artifacts.workspace_dir: cannot be the text "a\\u0000b": leave out control characters, and spaces at its ends.',
    ],
  ],
  [
    "a directory that only a shell knows",
    ["objective: Do it", "artifacts:", "  workspace_dir: ~/runs", ""],
    [
      '3:3  artifacts.workspace_dir: cannot be the text "~/runs": "~" works in a shell only, so write the whole path.',
    ],
  ],
  [
    "a mark in the directory that is not replaced",
    ["objective: Do it", "artifacts:", "  workspace_dir: runs/<date>/<id>", ""],
    [
      '3:3  artifacts.workspace_dir: cannot be the text "runs/<date>/<id>": only <id> and <run_id> are replaced, by the id of the run.',
    ],
  ],
  [
    "a pipeline that cannot be one",
    ["objective: Do it", "pipeline: a/b", ""],
    [
      '2:1  pipeline: must be the name of a pipeline, 1 to 100 characters without "/", "#", "[", "]" or spaces at its ends, not the text "a/b".',
    ],
  ],
  [
    "something for yes or no that is neither",
    ["objective: Do it", "escalation:", "  ask_human_on_auth_failure: maybe", ""],
    ['3:3  escalation.ask_human_on_auth_failure: must be true or false, not the text "maybe".'],
  ],
  [
    "values in the input that JSON does not know",
    ["objective: Do it", "input:", "  x: .nan", "  y: [1, -.inf]", ""],
    [
      "3:3  input.x: is NaN, which JSON does not support: write a number.",
      "4:10  input.y[1]: is -Infinity, which JSON does not support: write a number.",
    ],
  ],
  [
    "half a character in the input",
    ["objective: Do it", "input:", '  a b: ["\\ud800"]', ""],
    ['3:9  input["a b"][0]: is a string with a lone surrogate.'],
  ],
  [
    "mistakes of every kind at once, by line",
    [
      "budgets:",
      "  max_stepz: 1",
      "  max_steps: -1",
      "objective: ''",
      "pipeline: a/b",
      "pipeline: a/c",
      "input: .nan",
      "escalation:",
      "",
    ],
    [
      "2:3  budgets.max_stepz: is no field of budgets: did you mean max_steps?",
      "3:3  budgets.max_steps: must be a whole number from 1 to 1000000, or null for no limit, not -1.",
      '4:1  objective: must be a text of 1 to 100000 characters that says what to do, not the text "".',
      "6:1  pipeline: is written twice: leave one of them out.",
      "7:1  input: is NaN, which JSON does not support: write a number.",
      "8:1  escalation: must be an object, not null: its fields are askHumanOnAmbiguousRecipient, askHumanOnAuthFailure, askHumanOnRepeatedFailures, askHumanOnBudgetReached.",
    ],
  ],
];
