import { Shop } from "../../../examples/chat/shop.ts";
import { ExampleProcess } from "../../../examples/example-process.ts";
import { freePort } from "../../store/postgres/postgres-server.ts";
import { HeldModel } from "./held-model.ts";

const CHAT = new URL("../../../examples/chat/", import.meta.url);
const SERVER = new URL("server.ts", CHAT);
const WORKER = new URL("worker.ts", CHAT);

const MOVED_CLOCK = new URL("children/moved-clock.ts", import.meta.url).href;

type Place = "server" | "worker 1" | "worker 2";
const PLACES: readonly Place[] = ["server", "worker 1", "worker 2"];

/** The chat of the examples in its processes: a server and two workers, with a model and a shop that the test controls. */
export class ChatProcesses {
  readonly store: string;
  readonly url: string;
  readonly model: HeldModel;
  readonly shop: Shop;
  /** Called when money has moved, before the shop answers. */
  onRefund: () => Promise<unknown> = () => Promise.resolve();
  readonly #settings: NodeJS.ProcessEnv;
  readonly #running = new Map<Place, ExampleProcess>();
  #version: NodeJS.ProcessEnv = {};

  private constructor(store: string, url: string, model: HeldModel, page: string, shop: Shop) {
    this.store = store;
    this.url = url;
    this.model = model;
    this.shop = shop;
    this.#settings = {
      PAWL_STORE: store,
      PORT: new URL(url).port,
      PAGE: page,
      MODEL_URL: model.server.url,
      SHOP_URL: shop.url,
    };
  }

  static async start(store: string, page: string): Promise<ChatProcesses> {
    const [port, model] = await Promise.all([freePort(), HeldModel.listen()]);
    let refunded = () => Promise.resolve<unknown>(undefined);
    const shop = await Shop.listen({ answers: () => refunded() });
    const chat = new ChatProcesses(store, `http://127.0.0.1:${port}`, model, page, shop);
    refunded = () => chat.onRefund();
    try {
      await chat.startAll();
      return chat;
    } catch (error) {
      await chat.close();
      throw error;
    }
  }

  /** Starts what does not run. */
  async startAll(): Promise<void> {
    const missing = PLACES.filter((place) => !this.#running.has(place));
    const started = await Promise.allSettled(missing.map((place) => this.#start(place)));
    const failed = started.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async kill(place: Place): Promise<void> {
    const running = this.#running.get(place);
    this.#running.delete(place);
    await running?.kill();
  }

  /** The worker that the owner of a lease names (`host/pid/…`). */
  async killOwner(owner: string): Promise<void> {
    const place = PLACES.find((each) => String(this.#running.get(each)?.pid) === owner.split("/")[1]);
    if (place === undefined || place === "server") throw new Error(`No worker is ${owner}.`);
    await this.kill(place);
  }

  /** Stops all in good order, and starts them with other settings. */
  async deploy(version: NodeJS.ProcessEnv): Promise<void> {
    this.#version = version;
    await this.#endAll((running) => running.stop());
    await this.startAll();
  }

  /** Stops all, and starts them with a clock that is a day and an hour ahead. */
  async nextDay(): Promise<void> {
    await this.deploy({ NODE_OPTIONS: `--import=${MOVED_CLOCK}`, MOVED_MS: String(25 * 60 * 60_000) });
  }

  async close(): Promise<void> {
    await this.#endAll((running) => running.kill());
    await Promise.all([this.model.close(), this.shop.close()]);
  }

  async #start(place: Place): Promise<void> {
    const settings = { ...this.#settings, ...this.#version };
    this.#running.set(place, await ExampleProcess.start(place === "server" ? SERVER : WORKER, settings));
  }

  async #endAll(end: (running: ExampleProcess) => Promise<void>): Promise<void> {
    const ended = [...this.#running.values()].map(end);
    this.#running.clear();
    await Promise.all(ended);
  }
}
