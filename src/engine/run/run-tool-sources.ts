import { ConfigurationError } from "../../core/errors.ts";
import { withoutDigests } from "../../core/secret/secret-mark.ts";
import type { RunSecrets } from "../definition/run-secrets.ts";
import type { Tool } from "../definition/tool.ts";
import type { OpenSources, OpenTools, SourceOpening, ToolSource } from "../definition/tool-source.ts";

/** The tool sources that one worker has open for one run. Each is opened once, so all steps see the same tools. */
export class RunToolSources implements OpenSources {
  readonly #opening: SourceOpening;
  readonly #secrets: RunSecrets;
  readonly #open = new Map<ToolSource, Map<string, Promise<OpenTools>>>();

  constructor(opening: Pick<SourceOpening, "signal" | "network" | "warn">, secrets: RunSecrets) {
    this.#secrets = secrets;
    this.#opening = {
      ...opening,
      learnSecrets: (texts) => secrets.learn(texts),
      hide: (text, torn) => secrets.hideText(text, torn),
      // The result goes to a model.
      hideTexts: (value) => withoutDigests(secrets.hideTexts(value)),
    };
  }

  /** The tools of all these sources, by their full names. */
  async toolsOf(sources: { readonly [key: string]: ToolSource }): Promise<{ readonly [name: string]: Tool }> {
    const opened = await Promise.all(
      Object.entries(sources).map(([key, source]) => this.#openOnce(source.name ?? key, source)),
    );
    const all = opened.flatMap(({ tools }) =>
      Object.entries(tools).map(([name, tool]) => [name, { ...tool, name: tool.name ?? name }] as const),
    );
    const names = all.map(([name]) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined)
      throw new ConfigurationError(`Two sources have a tool ${twice}: give one of them another name.`);
    return Object.fromEntries(all);
  }

  #openOnce(name: string, source: ToolSource): Promise<OpenTools> {
    const known = this.#open.get(source) ?? new Map<string, Promise<OpenTools>>();
    this.#open.set(source, known);
    const opened = known.get(name) ?? this.#openNow(name, source);
    known.set(name, opened);
    // After a failure, the next caller tries again.
    opened.catch(() => known.delete(name));
    return opened;
  }

  async #openNow(name: string, source: ToolSource): Promise<OpenTools> {
    try {
      return await source.open(name, this.#opening);
    } catch (error) {
      if (error instanceof Error) this.#secrets.redactError(error);
      throw error;
    }
  }

  /** Closes all sources and waits until they are closed. */
  async close(): Promise<void> {
    const all = [...this.#open.values()].flatMap((each) => [...each.values()]);
    this.#open.clear();
    await Promise.all(all.map((opened) => opened.then((each) => each.close()).catch(() => undefined)));
  }
}
