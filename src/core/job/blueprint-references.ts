import { KEY_PROPERTIES } from "../call/tool-call-key.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { nearestName } from "../naming/nearest-name.ts";
import { ownProperty } from "../own-property.ts";
import { argumentProblems } from "./blueprint-arguments.ts";
import { environmentProblem, textsIn } from "./blueprint-environment.ts";
import {
  allowedText,
  canBe,
  type KnownOutput,
  outputAt,
  schemaProblems,
  UNKNOWN,
  unreadablePart,
} from "./blueprint-output.ts";
import { TOOL_NAME, TOOL_REFERENCE } from "./blueprint-rules.ts";
import { collectSteps, type Scope, stepProblem, type WrittenStep } from "./blueprint-scope.ts";
import { parseTemplate, referencesOf, type TemplateReference } from "./blueprint-template.ts";
import type { Reading, Rule, SpecPath } from "./run-spec-field.ts";

/**
 * Checks the references between the parts of a blueprint. It reads the raw value and skips parts of the wrong form, which
 * are reported already: so all mistakes are reported at once.
 */
export function checkReferences(
  written: JsonObject,
  path: SpecPath,
  reading: Reading,
  isSoundSoFar: () => boolean,
): void {
  const references = new ReferenceCheck(written, path, reading);
  references.check();
  // A part may be unused only because of another mistake.
  if (isSoundSoFar()) references.checkUse();
}

function objectIn(written: JsonObject, name: string): JsonObject {
  const value = ownProperty(written, name);
  return isJsonObject(value) ? value : {};
}

function textIn(written: JsonObject, name: string): string | null {
  const value = ownProperty(written, name);
  return typeof value === "string" ? value : null;
}

class ReferenceCheck {
  readonly #written: JsonObject;
  readonly #path: SpecPath;
  readonly #reading: Reading;
  readonly #agents: JsonObject;
  readonly #models: JsonObject;
  readonly #servers: JsonObject;
  readonly #serversField: string;
  readonly #settings: JsonObject;
  readonly #steps: ReadonlyMap<string, WrittenStep>;
  readonly #used = {
    agents: new Set<string>(),
    models: new Set<string>(),
    servers: new Set<string>(),
    tools: new Set<string>(),
  };

  constructor(written: JsonObject, path: SpecPath, reading: Reading) {
    this.#written = written;
    this.#path = path;
    this.#reading = reading;
    this.#agents = objectIn(written, "agents");
    this.#models = objectIn(written, "models");
    this.#serversField = Object.hasOwn(written, "mcp_servers") ? "mcp_servers" : "mcpServers";
    this.#servers = objectIn(written, this.#serversField);
    this.#settings = objectIn(written, "tools");
    this.#steps = collectSteps(written.steps);
  }

  check(): void {
    for (const [name, agent] of Object.entries(this.#agents))
      if (isJsonObject(agent)) this.#agent(agent, [...this.#path, "agents", name]);
    const given = this.#runInput();
    this.#stepList(this.#written.steps, [...this.#path, "steps"], {
      visible: new Map(),
      loops: [],
      previous: given,
    });
    for (const [tool, settings] of Object.entries(this.#settings)) this.#toolSettings(tool, settings);
  }

  checkUse(): void {
    this.#unused("agents", "agents", this.#agents, "an agent", "no step names it");
    this.#unused("models", "models", this.#models, "a model", "no agent names it");
    this.#unused(
      this.#serversField,
      "servers",
      this.#servers,
      "an MCP server",
      "no agent and no step names a tool of it",
    );
    this.#unused("tools", "tools", this.#settings, "a tool", "no agent and no step names it");
  }

  #report(path: SpecPath, message: string): void {
    this.#reading.report(path, message);
  }

  /** The input of the run is known if the file has one; the command line may override it. */
  #runInput(): KnownOutput {
    const { whole } = this.#reading;
    const input = isJsonObject(whole) ? whole.input : undefined;
    return input === undefined || input === null ? UNKNOWN : { kind: "value", value: input };
  }

  #agent(agent: JsonObject, path: SpecPath): void {
    const { model, tools, output } = agent;
    if (typeof model === "string") this.#used.models.add(model);
    if (Array.isArray(tools))
      for (const [index, tool] of (tools as readonly Json[]).entries())
        if (isOfForm(TOOL_REFERENCE, tool)) this.#tool(tool, [...path, "tools", index]);
    if (!isJsonObject(output)) return;
    const problems = schemaProblems(output);
    const unreadable = problems.length === 0 ? unreadablePart(output, output) : null;
    for (const problem of unreadable === null ? problems : [unreadable])
      this.#report([...path, "output", ...problem.path], problem.message);
  }

  #tool(reference: string, path: SpecPath): void {
    const [server, tool] = reference.includes("/") ? reference.split("/", 2) : [null, reference];
    if (server !== null && server !== undefined) {
      this.#used.servers.add(server);
      if (!Object.hasOwn(this.#servers, server))
        this.#report(
          path,
          unknownName("an MCP server", server, Object.keys(this.#servers), this.#serversField),
        );
      return;
    }
    const name = tool ?? reference;
    this.#used.tools.add(name);
    const known = this.#reading.tools;
    if (Object.hasOwn(this.#servers, name)) {
      this.#used.servers.add(name);
      this.#report(path, `is the name of an MCP server: write ${name}/* for all of its tools.`);
    } else if (known !== null && !known.names.includes(name))
      this.#report(path, unknownTool(name, known.names));
    else if (known !== null && !Object.hasOwn(this.#settings, name)) {
      const [problem] = known.settingsProblems(name, {});
      if (problem !== undefined)
        this.#report(path, `needs settings: give them as ${name} in pipeline.tools.`);
    }
  }

  #toolStep(tool: string, step: JsonObject, path: SpecPath): void {
    this.#tool(tool, [...path, "tool"]);
    const schema = this.#reading.tools?.argumentSchema(tool) ?? null;
    const isGiven = Object.hasOwn(step, "with");
    if (schema === null || (isGiven && !isJsonObject(step.with))) return;
    const at = isGiven ? [...path, "with"] : [...path, "tool"];
    for (const problem of argumentProblems(tool, schema, objectIn(step, "with"), KEY_PROPERTIES))
      this.#report([...at, ...problem.path], problem.message);
  }

  #toolSettings(tool: string, settings: Json): void {
    const path = [...this.#path, "tools", tool];
    const known = this.#reading.tools;
    if (known !== null && !known.names.includes(tool)) {
      this.#used.tools.add(tool);
      this.#report(path, unknownTool(tool, known.names));
    } else if (isJsonObject(settings)) {
      const problems = textsIn(settings).flatMap(([at, text]) => {
        const message = environmentProblem(text);
        return message === null ? [] : [{ path: at, message }];
      });
      for (const problem of [...problems, ...(known?.settingsProblems(tool, settings) ?? [])])
        this.#report([...path, ...problem.path], problem.message);
    }
  }

  #unused(
    field: string,
    kind: "agents" | "models" | "servers" | "tools",
    named: JsonObject,
    what: string,
    why: string,
  ): void {
    for (const name of Object.keys(named))
      if (!this.#used[kind].has(name))
        this.#report(
          [...this.#path, field, name],
          `is ${what} that is not used: ${why}. Leave it out, or name it there.`,
        );
  }

  /** Returns what is known about the output of the last step. */
  #stepList(steps: Json | undefined, path: SpecPath, outer: Scope): KnownOutput {
    if (!Array.isArray(steps)) return UNKNOWN;
    const visible = new Map(outer.visible);
    let { previous } = outer;
    for (const [index, step] of (steps as readonly Json[]).entries()) {
      if (!isJsonObject(step)) {
        previous = UNKNOWN;
        continue;
      }
      const name = textIn(step, "name");
      const output = this.#step(step, [...path, index], { ...outer, visible, previous });
      if (name !== null) {
        if (this.#steps.get(name)?.second === step)
          this.#report(
            [...path, index, "name"],
            `is ${JSON.stringify(name)}, the name of another step: rename one of them.`,
          );
        visible.set(name, output);
      }
      previous = Object.hasOwn(step, "when") ? UNKNOWN : output;
    }
    return previous;
  }

  #step(step: JsonObject, path: SpecPath, scope: Scope): KnownOutput {
    const name = textIn(step, "name");
    if (isJsonObject(step.when)) this.#when(step.when, [...path, "when"], name, scope);
    for (const field of ["prompt", "ask"])
      this.#template(textIn(step, field) ?? "", [...path, field], name, scope);
    if (isJsonObject(step.with))
      for (const [at, text] of textsIn(step.with))
        this.#template(text, [...path, "with", ...at], name, scope);
    if (Object.hasOwn(step, "agent")) return this.#agentStep(step, path);
    if (Object.hasOwn(step, "tool")) {
      if (isOfForm(TOOL_NAME, step.tool)) this.#toolStep(step.tool, step, path);
      return UNKNOWN;
    }
    if (Object.hasOwn(step, "loop")) return this.#loop(step, path, scope);
    const choices = Array.isArray(step.choices) ? (step.choices as readonly Json[]) : [];
    return choices.length === 0 ? UNKNOWN : { kind: "schema", schema: { enum: choices } };
  }

  #agentStep(step: JsonObject, path: SpecPath): KnownOutput {
    const name = textIn(step, "agent");
    if (name === null) return UNKNOWN;
    this.#used.agents.add(name);
    if (!Object.hasOwn(this.#agents, name)) {
      this.#report([...path, "agent"], unknownName("an agent", name, Object.keys(this.#agents), "agents"));
      return UNKNOWN;
    }
    const { output = null } = objectIn(this.#agents, name);
    if (output === null) return { kind: "text" };
    return isJsonObject(output) ? { kind: "schema", schema: output } : UNKNOWN;
  }

  #loop(step: JsonObject, path: SpecPath, scope: Scope): KnownOutput {
    const name = textIn(step, "name");
    const loops = name === null ? scope.loops : [...scope.loops, name];
    // The first iteration gets the input of the loop, later ones the output of the previous iteration.
    const output = this.#stepList(step.loop, [...path, "loop"], { ...scope, loops, previous: UNKNOWN });
    if (isJsonObject(step.until)) this.#condition(step.until, [...path, "until"], output, "the loop");
    return output;
  }

  #when(when: JsonObject, path: SpecPath, own: string | null, scope: Scope): void {
    const name = textIn(when, "step");
    if (name === null) return;
    const problem = stepProblem(name, own, scope, this.#steps);
    if (problem === null) this.#condition(when, path, scope.visible.get(name) ?? UNKNOWN, `step ${name}`);
    else this.#report([...path, "step"], `is ${JSON.stringify(name)}, and ${problem}`);
  }

  #condition(condition: JsonObject, path: SpecPath, output: KnownOutput, whose: string): void {
    const at = outputAt(output, textIn(condition, "output")?.split(".") ?? []);
    const { equals = true } = condition;
    if (!at.ok) this.#report([...path, "output"], `is not in the output of ${whose}: ${ended(at.why)}`);
    else if (!canBe(at.output, equals))
      this.#report(
        [...path, "equals"],
        `is ${JSON.stringify(equals)}, which ${whose} can never output${allowedText(at.output)}.`,
      );
  }

  #template(text: string, path: SpecPath, step: string | null, scope: Scope): void {
    const parsed = parseTemplate(text);
    if (!parsed.ok) return this.#report(path, parsed.problem);
    for (const reference of referencesOf(parsed.parts)) {
      const problem = this.#referenceProblem(reference, step, scope);
      if (problem !== null) this.#report(path, `has {{ ${reference.text} }}, and ${problem}`);
    }
  }

  #referenceProblem(
    { root, step, path }: TemplateReference,
    own: string | null,
    scope: Scope,
  ): string | null {
    const unknown = step === null ? null : stepProblem(step, own, scope, this.#steps);
    if (unknown !== null) return unknown;
    const whole =
      step !== null ? scope.visible.get(step) : root === "input" ? this.#runInput() : scope.previous;
    const at = outputAt(whole ?? UNKNOWN, path);
    return at.ok ? null : ended(at.why);
  }
}

function isOfForm(rule: Rule<string>, value: Json | undefined): value is string {
  return rule.schema().safeParse(value).success;
}

function ended(sentence: string): string {
  return /[?.]$/.test(sentence) ? sentence : `${sentence}.`;
}

function unknownName(what: string, name: string, names: readonly string[], field: string): string {
  const near = nearestName(name, names);
  const meant =
    near !== null
      ? `did you mean ${near}?`
      : names.length === 0
        ? `add it to pipeline.${field}.`
        : `there ${names.length === 1 ? "is" : "are"} ${names.join(", ")}.`;
  return `names ${what} ${JSON.stringify(name)} that does not exist: ${meant}`;
}

function unknownTool(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  return `is no known tool: ${near === null ? `there are ${names.join(", ")}, those in \`tools\` of pawl.config.ts, and server/tool of MCP servers.` : `did you mean ${near}?`}`;
}
