import type { Mistaken } from "./job-file-mistakes.ts";

/** Mistakes in the agents of a blueprint, and in the tools and servers that they use. */
export const mistakenAgents: readonly Mistaken[] = [
  [
    "an agent that is not there",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents: { writer: { model: openai/gpt-5.2 } }",
      "  steps:",
      "    - { name: a, agent: writer }",
      "    - { name: b, agent: writr }",
    ],
    ['7:18  pipeline.steps[1].agent: names an agent "writr" that does not exist: did you mean writer?'],
  ],
  [
    "an agent and no agents",
    ["objective: Do it", "pipeline:", "  name: p", "  steps: [{ name: a, agent: w }]"],
    ['4:22  pipeline.steps[0].agent: names an agent "w" that does not exist: add it to pipeline.agents.'],
  ],
  [
    "an agent that is not used",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2 }",
      "    critic: { model: openai/gpt-5.2 }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      "6:5  pipeline.agents.critic: is an agent that is not used: no step names it. Leave it out, or name it there.",
    ],
  ],
  [
    "an agent without a model",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: {}",
      "  steps: [{ name: a, agent: w }]",
    ],
    ["5:5  pipeline.agents.w.model: is missing: an agent needs it."],
  ],
  [
    "an agent whose model is a number",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: 5 }",
      "  steps: [{ name: a, agent: w }]",
    ],
    ['5:10  pipeline.agents.w.model: must be the name of a model, such as "openai/gpt-5.2", not 5.'],
  ],
  [
    "an agent's name with a space",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    the writer: { model: openai/gpt-5.2 }",
      "  steps: [{ name: a, ask: Well? }]",
    ],
    [
      '5:5  pipeline.agents["the writer"]: its name must be the name of an agent, 1 to 100 letters, digits, "_" or "-", beginning with a letter, not the text "the writer".',
    ],
  ],
  [
    "a misspelt field of an agent",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, instruction: Write. }",
      "  steps: [{ name: a, agent: w }]",
    ],
    ["5:33  pipeline.agents.w.instruction: is no field of pipeline.agents.w: did you mean instructions?"],
  ],
  [
    "a temperature too high",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w:",
      "      model: openai/gpt-5.2",
      "      settings: { temperature: 3, max_tokens: 5 }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      "7:19  pipeline.agents.w.settings.temperature: must be a number from 0 to 2, or null for the default, not 3.",
      "7:35  pipeline.agents.w.settings.max_tokens: is no field of pipeline.agents.w.settings: it has maxOutputTokens, temperature, topP, seed, stopSequences, reasoning, providerOptions.",
    ],
  ],
  [
    "an unknown level of reasoning",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, settings: { reasoning: hard } }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      '5:45  pipeline.agents.w.settings.reasoning: must be one of provider-default, none, minimal, low, medium, high, xhigh, max, or null for the default, not the text "hard".',
    ],
  ],
  [
    "a tool that is not there",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, tools: [read_fil, my_tol, frobnicate] }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      "5:41  pipeline.agents.w.tools[0]: is no known tool: did you mean read_file?",
      "5:51  pipeline.agents.w.tools[1]: is no known tool: did you mean my_tool?",
      "5:59  pipeline.agents.w.tools[2]: is no known tool: there are my_tool, read_file, fetch_page, http_request, ask_human, send_mail, those in `tools` of pawl.config.ts, and server/tool of MCP servers.",
    ],
  ],
  [
    "a tool that is named twice",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, tools: [read_file, read_file] }",
      "  steps: [{ name: a, agent: w }]",
    ],
    ['5:52  pipeline.agents.w.tools[1]: is the text "read_file", the same as [0]: leave one of them out.'],
  ],
  [
    "tools that are no list",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, tools: read_file }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      '5:33  pipeline.agents.w.tools: must be a list of at most 1000 names of tools such as "read_file" or "notes/*", not the text "read_file".',
    ],
  ],
  [
    "a tool that needs settings and has none",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  agents:",
      "    w: { model: openai/gpt-5.2, tools: [send_mail] }",
      "  steps: [{ name: a, agent: w }]",
    ],
    ["5:41  pipeline.agents.w.tools[0]: needs settings: give them as send_mail in pipeline.tools."],
  ],
  [
    "a tool of a server that is not there",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers: { notes: { command: npx } }",
      "  agents:",
      "    w: { model: openai/gpt-5.2, tools: [notes/read, note/read, files/*] }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      '6:53  pipeline.agents.w.tools[1]: names an MCP server "note" that does not exist: did you mean notes?',
      '6:64  pipeline.agents.w.tools[2]: names an MCP server "files" that does not exist: there is notes.',
    ],
  ],
  [
    "a server in the place of its tools",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers: { notes: { command: npx } }",
      "  agents:",
      "    w: { model: openai/gpt-5.2, tools: [notes] }",
      "  steps: [{ name: a, agent: w }]",
    ],
    ["6:41  pipeline.agents.w.tools[0]: is the name of an MCP server: write notes/* for all of its tools."],
  ],
  [
    "a server that is not used",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers: { notes: { command: npx } }",
      "  agents: { w: { model: openai/gpt-5.2 } }",
      "  steps: [{ name: a, agent: w }]",
    ],
    [
      "4:18  pipeline.mcp_servers.notes: is an MCP server that is not used: no agent and no step names a tool of it. Leave it out, or name it there.",
    ],
  ],
  [
    "a server with a command and an address",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      '    notes: { command: npx, url: "https://example.com" }',
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    [
      "5:28  pipeline.mcp_servers.notes.url: cannot be combined with command: an MCP server has only one of command, url.",
    ],
  ],
  [
    "a server with neither",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      "    notes: { args: [a] }",
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    ["5:5  pipeline.mcp_servers.notes: has no kind: an MCP server has command or url."],
  ],
  [
    "a server's name with two underscores",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      "    my__notes: { command: npx }",
      "  steps: [{ name: a, tool: my__notes/read }]",
    ],
    [
      '5:5  pipeline.mcp_servers.my__notes: its name must be the name of an MCP server, 1 to 30 letters, digits, "-" or single "_", beginning with a letter, not the text "my__notes".',
    ],
  ],
  [
    "a server at no address",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      "    notes: { url: example.com/mcp }",
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    [
      '5:14  pipeline.mcp_servers.notes.url: must be an address such as "https://example.com/mcp", not the text "example.com/mcp".',
    ],
  ],
  [
    "a password in an address",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      '    notes: { url: "https://me:secret@example.com/mcp" }',
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    [
      "5:14  pipeline.mcp_servers.notes.url: contains a user name or password, and would be stored: use headers, with ${NAME} for a variable.",
    ],
  ],
  [
    "arguments that are no texts",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      "    notes: { command: npx, args: [-p, 8080], env: { DEBUG: true } }",
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    [
      "5:39  pipeline.mcp_servers.notes.args[1]: must be a text of at most 100000 characters; put numbers and true or false in quotes, not 8080.",
      "5:53  pipeline.mcp_servers.notes.env.DEBUG: must be a text of at most 100000 characters; put numbers and true or false in quotes, not true.",
    ],
  ],
  [
    "variables without a name",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      "    notes:",
      "      command: npx",
      '      args: ["${}", "${A B}", "${OPEN", "$${fine}"]',
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    [
      '7:14  pipeline.mcp_servers.notes.args[0]: cannot be the text "${}": it has "${}", which names no variable: write ${NAME}, or $${ for the two characters.',
      '7:21  pipeline.mcp_servers.notes.args[1]: cannot be the text "${A B}": it has "${A B}", which names no variable: write ${NAME}, or $${ for the two characters.',
      '7:31  pipeline.mcp_servers.notes.args[2]: cannot be the text "${OPEN": it has "${OPEN", which names no variable: write ${NAME}, or $${ for the two characters.',
    ],
  ],
  [
    "a home folder",
    [
      "objective: Do it",
      "pipeline:",
      "  name: p",
      "  mcp_servers:",
      "    notes: { command: npx, cwd: ~/notes }",
      "  steps: [{ name: a, tool: notes/read }]",
    ],
    [
      '5:28  pipeline.mcp_servers.notes.cwd: cannot be the text "~/notes": "~" works in a shell only, so write the whole path.',
    ],
  ],
];
