import { ModelServer } from "../../../examples/chat/model-server.ts";
import { scriptedClerk } from "../../../examples/chat/scripted-clerk.ts";

/** A point at which the model has stopped writing. */
export type Hold = {
  /** Resolves once the model has written all that comes before it. */
  readonly reached: Promise<void>;
  /** Lets it continue. */
  release(): void;
};

type Gate = Hold & { readonly pieces: number; reach(): void; readonly released: Promise<void> };

/** The model of the example, which stops in the middle of an answer where a test says so. Otherwise it answers at once. */
export class HeldModel {
  readonly server: ModelServer;
  readonly #next: Gate[];
  readonly #gates: Map<number, Gate>;
  readonly #refusals: number[];

  private constructor(server: ModelServer, next: Gate[], gates: Map<number, Gate>, refusals: number[]) {
    this.#refusals = refusals;
    this.server = server;
    this.#next = next;
    this.#gates = gates;
  }

  static async listen(): Promise<HeldModel> {
    const next: Gate[] = [];
    const gates = new Map<number, Gate>();
    const refusals: number[] = [];
    const server = await ModelServer.listen({
      reply: (body) => {
        const refused = refusals.shift();
        return refused === undefined ? scriptedClerk(body) : { refused };
      },
      pace: async ({ request, index }) => {
        if (index === 0) {
          const gate = next.shift();
          if (gate !== undefined) gates.set(request, gate);
        }
        const gate = gates.get(request);
        if (gate === undefined || index !== gate.pieces) return;
        gate.reach();
        await gate.released;
      },
    });
    return new HeldModel(server, next, gates, refusals);
  }

  /** How often it was asked. */
  get asked(): number {
    return this.server.requests.length;
  }

  /** The next request that has no hold yet gets this one: the model stops after so many pieces. */
  holdNext(pieces: number): Hold {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const gate: Gate = {
      pieces,
      reached: reached.promise,
      reach: () => reached.resolve(),
      released: released.promise,
      release: () => released.resolve(),
    };
    this.#next.push(gate);
    return gate;
  }

  /** The next request is refused with this HTTP status. */
  refuseNext(status: number): void {
    this.#refusals.push(status);
  }

  /** Ends what is held, too. */
  async close(): Promise<void> {
    for (const gate of [...this.#next, ...this.#gates.values()]) gate.release();
    await this.server.close();
  }
}
