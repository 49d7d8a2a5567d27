import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Attack } from "../attack.ts";

/** A service on this machine that nobody meant to be reached by an agent. */
async function internalService(): Promise<{ readonly url: string; readonly requests: readonly string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.end("internal");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/admin`, requests };
}

export const NETWORK_ATTACKS: readonly Attack[] = [
  {
    threat: "a model has a page of the internal network fetched",
    weakened: [
      {
        file: "core/network-policy.ts",
        right: "if (bits.length === 32) return !SPECIAL_IPV4.some((prefix) => bits.startsWith(prefix));",
        wrong: "if (bits.length === 32) return true;",
      },
    ],
    succeeds: async (target) => {
      const { pawl } = await target.library();
      const { url, requests } = await internalService();
      const network = { allowedDomains: [], allowPrivateAddresses: false };
      await pawl
        .guardedFetch({ signal: new AbortController().signal, network })(url)
        .catch(() => undefined);
      return requests.length > 0;
    },
  },
];
