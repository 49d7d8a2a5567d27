import type { Mistaken } from "./job-file-mistakes.ts";

/** Mistakes in the outline of a pipeline: its name, its steps, loops, conditions and questions. */
export const mistakenSteps: readonly Mistaken[] = [
  [
    "no name",
    ["objective: Do it", "pipeline:", "  steps: [{ name: a, ask: Well? }]"],
    ["2:1  pipeline.name: is missing: a blueprint needs it."],
  ],
  [
    "a list for a pipeline",
    ["objective: Do it", "pipeline: [a]"],
    [
      '2:1  pipeline: must be the name of a pipeline, 1 to 100 characters without "/", "#", "[", "]" or spaces at its ends, not a list.',
    ],
  ],
  [
    "an empty object for a pipeline",
    ["objective: Do it", "pipeline: {}"],
    [
      "2:1  pipeline.name: is missing: a blueprint needs it.",
      "2:1  pipeline.steps: is missing: a blueprint needs it.",
    ],
  ],
  [
    "a name with spaces",
    ["objective: Do it", "pipeline: { name: my pipeline, steps: [{ name: a, ask: Well? }] }"],
    [
      '2:13  pipeline.name: must be the name of a pipeline, 1 to 100 letters, digits, "_" or "-", beginning with a letter, not the text "my pipeline".',
    ],
  ],
  [
    "no steps",
    ["objective: Do it", "pipeline:", "  name: p", "  agents: { w: { model: openai/gpt-5.2 } }"],
    ["2:1  pipeline.steps: is missing: a blueprint needs it."],
  ],
  [
    "an empty list of steps",
    ["objective: Do it", "pipeline:", "  name: p", "  steps: []"],
    ["4:3  pipeline.steps: must be a list of 1 to 1000 steps, not one of 0."],
  ],
  [
    "steps that are no list",
    ["objective: Do it", "pipeline:", "  name: p", "  steps: { name: a, ask: Well? }"],
    ["4:3  pipeline.steps: must be a list of 1 to 1000 steps, not an object."],
  ],
  [
    "a misspelt field",
    ["objective: Do it", "pipeline:", "  name: p", "  step:", "    - { name: a, ask: Well? }"],
    [
      "2:1  pipeline.steps: is missing: a blueprint needs it.",
      "4:3  pipeline.step: is no field of pipeline: did you mean steps?",
    ],
  ],
  [
    "agents at the top level",
    ["objective: Do it", "agents: {}", "pipeline: { name: p, steps: [{ name: a, ask: Well? }] }"],
    ["2:1  agents: is no field of a RunSpec: did you mean pipeline.agents?"],
  ],
  [
    "a budget inside of the pipeline",
    ["objective: Do it", "pipeline:", "  name: p", "  max_steps: 3", "  steps: [{ name: a, ask: Well? }]"],
    [
      "4:3  pipeline.max_steps: is no field of pipeline: it has name, models, mcpServers, tools, agents, steps.",
    ],
  ],
  [
    "the servers in both spellings",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers: {}",
      "  mcpServers: {}",
      "  steps: [{ name: a, ask: Well? }]",
    ],
    ["5:3  pipeline.mcpServers: is the same field as mcp_servers: leave one of them out."],
  ],
  [
    "a step without a name",
    ["objective: Do it", "pipeline:", "  name: p", "  steps:", "    - ask: Well?"],
    ["5:7  pipeline.steps[0].name: is missing: a step needs it."],
  ],
  [
    "a step that does nothing",
    ["objective: Do it", "pipeline:", "  name: p", "  steps:", "    - name: a"],
    ["5:7  pipeline.steps[0]: has no kind: a step has agent, ask, tool, sleep, receive or loop."],
  ],
  [
    "a step that does two things",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents: { w: { model: openai/gpt-5.2 } }",
      "  steps:",
      "    - name: a",
      "      agent: w",
      "      ask: Well?",
    ],
    [
      "8:7  pipeline.steps[0].ask: cannot be combined with agent: a step has only one of agent, ask, tool, sleep, receive, loop.",
    ],
  ],
  [
    "a step that is a text",
    ["objective: Do it", "pipeline:", "  name: p", "  steps: [ask]"],
    [
      '4:11  pipeline.steps[0]: must be an object, not the text "ask": a step has agent, ask, tool, sleep, receive or loop.',
    ],
  ],
  [
    "a misspelt kind of step",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents: { w: { model: openai/gpt-5.2 } }",
      "  steps:",
      "    - { name: a, agnet: w }",
    ],
    ["6:18  pipeline.steps[0].agnet: is no field of a step: did you mean agent?"],
  ],
  [
    "a field of another kind of step",
    ["objective: Do it", "pipeline:", "  name: p", "  steps:", "    - { name: a, ask: Well?, max_turns: 3 }"],
    [
      "5:30  pipeline.steps[0].max_turns: is no field of pipeline.steps[0]: it has name, phase, when, ask, choices.",
    ],
  ],
  [
    "two steps of one name",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: a, ask: Well? }",
      "    - { name: a, ask: And? }",
    ],
    ['6:9  pipeline.steps[1].name: is "a", the name of another step: rename one of them.'],
  ],
  [
    "two steps of one name, one inside of a loop",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: a, ask: Well? }",
      "    - { name: l, loop: [{ name: a, ask: And? }], until: { equals: yes } }",
    ],
    ['6:27  pipeline.steps[1].loop[0].name: is "a", the name of another step: rename one of them.'],
  ],
  [
    "a step named with a dot",
    ["objective: Do it", "pipeline:", "  name: p", "  steps: [{ name: a.b, ask: Well? }]"],
    [
      '4:13  pipeline.steps[0].name: must be the name of a step, 1 to 100 letters, digits, "_" or "-", beginning with a letter, not the text "a.b".',
    ],
  ],
  [
    "a loop without an end",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: l, loop: [{ name: a, ask: Well? }] }",
    ],
    ["5:7  pipeline.steps[0].until: is missing: a step needs it."],
  ],
  [
    "a loop of nothing",
    ["objective: Do it", "pipeline:", "  name: p", "  steps:", "    - { name: l, loop: [], until: {} }"],
    ["5:18  pipeline.steps[0].loop: must be a list of 1 to 1000 steps, not one of 0."],
  ],
  [
    "a loop that goes round too often",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: l, loop: [{ name: a, ask: Well? }], until: { equals: yes }, max_iterations: 0 }",
    ],
    ["5:75  pipeline.steps[0].max_iterations: must be a whole number from 1 to 10000, not 0."],
  ],
  [
    "a condition on what is not there",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents: { w: { model: openai/gpt-5.2, output: { type: object, properties: { text: { type: string }, done: { type: boolean } } } } }",
      "  steps:",
      "    - { name: l, loop: [{ name: a, agent: w }], until: { output: doen } }",
    ],
    [
      "6:58  pipeline.steps[0].until.output: is not in the output of the loop: there is no doen in it: did you mean done?",
    ],
  ],
  [
    "a condition on a text",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents: { w: { model: openai/gpt-5.2 } }",
      "  steps:",
      "    - { name: l, loop: [{ name: a, agent: w }], until: { output: done } }",
    ],
    [
      "6:58  pipeline.steps[0].until.output: is not in the output of the loop: it is a text without fields: name it as a whole, or give its agent an output.",
    ],
  ],
  [
    "a condition that never holds",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents: { w: { model: openai/gpt-5.2, output: { type: object, properties: { text: { type: string }, done: { type: boolean } } } } }",
      "  steps:",
      '    - { name: l, loop: [{ name: a, agent: w }], until: { output: done, equals: "true" } }',
      "    - { name: c, ask: Well?, choices: [send, stop] }",
      "    - { name: d, ask: Well?, when: { step: c, equals: sned } }",
      "    - { name: e, agent: w, when: { step: c } }",
    ],
    [
      '6:72  pipeline.steps[0].until.equals: is "true", which the loop can never output: it is of type boolean.',
      '8:47  pipeline.steps[2].when.equals: is "sned", which step c can never output: it is one of "send", "stop".',
      '9:28  pipeline.steps[3].when.equals: is true, which step c can never output: it is one of "send", "stop".',
    ],
  ],
  [
    "a misspelt condition",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: a, ask: Well? }",
      "    - { name: b, ask: Well?, when: { step: a, equal: x } }",
      "    - { name: c, ask: Well?, when: a }",
    ],
    [
      "6:47  pipeline.steps[1].when.equal: is no field of pipeline.steps[1].when: did you mean equals?",
      '7:30  pipeline.steps[2].when: must be an object, not the text "a": its fields are step, output, equals.',
    ],
  ],
  [
    "a condition on a step that comes later",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: a, ask: Well?, when: { step: b } }",
      "    - { name: b, ask: Well?, when: { step: b } }",
      "    - { name: c, ask: Well?, when: { stp: a } }",
    ],
    [
      '5:38  pipeline.steps[0].when.step: is "b", and step b comes later: name one before it.',
      '6:38  pipeline.steps[1].when.step: is "b", and that is this step itself: name one before it.',
      "7:30  pipeline.steps[2].when.step: is missing: `when` needs it.",
      "7:38  pipeline.steps[2].when.stp: is no field of pipeline.steps[2].when: did you mean step?",
    ],
  ],
  [
    "one answer to choose from",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: a, ask: Well?, choices: [yes] }",
    ],
    ["5:30  pipeline.steps[0].choices: has one answer: give two or more, or leave the field out."],
  ],
  [
    "an empty question",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  steps:",
      "    - { name: a, ask: ' ' }",
      "    - { name: b, agent: w, prompt: '' }",
      "  agents: { w: { model: openai/gpt-5.2 } }",
    ],
    [
      '5:18  pipeline.steps[0].ask: must be a question of 1 to 100000 characters, not the text " ".',
      '6:28  pipeline.steps[1].prompt: must be a text of 1 to 100000 characters, or null for the output of the previous step, not the text "".',
    ],
  ],
  [
    "fields without values",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, instructions: }",
      "  steps:",
      "    - name: a",
      "      agent: w",
      "      prompt:",
      "      phase:",
    ],
    [
      "5:33  pipeline.agents.w.instructions: must be a text of at most 100000 characters, not null.",
      "9:7  pipeline.steps[0].prompt: has no value: write one, or leave the field out.",
      "10:7  pipeline.steps[0].phase: has no value: write one, or leave the field out.",
    ],
  ],
  [
    "mistakes of many kinds at once",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers: { n: { comand: x } }",
      "  agents: { w: { model: openai/gpt-5.2, tools: [n/x, zzzz] } }",
      "  steps:",
      '    - { name: a, agent: ww, max_turns: 0, prompt: "{{ steps.b }}" }',
      "    - { nme: b, ask: Well? }",
    ],
    [
      "4:23  pipeline.mcp_servers.n.comand: is no field of an MCP server: did you mean command?",
      "5:54  pipeline.agents.w.tools[1]: is no known tool: there are my_tool, read_file, fetch_page, http_request, ask_human, send_mail, those in `tools` of pawl.config.ts, and server/tool of MCP servers.",
      '7:18  pipeline.steps[0].agent: names an agent "ww" that does not exist: there is w.',
      "7:29  pipeline.steps[0].max_turns: must be a whole number from 1 to 10000, not 0.",
      "7:43  pipeline.steps[0].prompt: has {{ steps.b }}, and there is no step b: there is none before this one.",
      "8:7  pipeline.steps[1].name: is missing: a step needs it.",
      "8:9  pipeline.steps[1].nme: is no field of pipeline.steps[1]: did you mean name?",
    ],
  ],
];
