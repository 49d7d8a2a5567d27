import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useNow } from "../../live/use-now.ts";
import { Button } from "../../parts/controls/button.tsx";
import { ConfirmDialog } from "../../parts/layout/confirm-dialog.tsx";
import { EmptyState } from "../../parts/layout/empty-state.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";
import { scopeWords } from "../../words/scope-words.ts";
import { NewTokenDialog } from "./new-token.tsx";
import { type Token, tokenState } from "./scope-text.ts";

type TokensProps = { readonly isAll: boolean; readonly onAll: (isAll: boolean) => void };

/** The tokens that open this server. Their secrets are known to those who have them alone. */
export function Tokens({ isAll, onAll }: TokensProps): ReactNode {
  const { client } = useDashboard();
  const now = useNow();
  const [open, setOpen] = useState<"new" | Token | null>(null);
  const tokens = useQuery({
    queryKey: ["tokens"],
    queryFn: ({ signal }) => client.listTokens({ signal }),
  });
  const items = tokens.data?.items ?? [];
  const living = items.filter((token) => tokenState(token, now) === "open");
  const shown = isAll ? items : living;
  const dead = items.length - living.length;
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <Button kind="primary" onClick={() => setOpen("new")}>
          New token…
        </Button>
        {dead > 0 && (
          <button
            type="button"
            aria-pressed={isAll}
            className="text-ink-3 hover:text-ink hover:underline"
            onClick={() => onAll(!isAll)}
          >
            {isAll ? "without revoked and expired ones" : `and ${counted(dead, "revoked or expired one")}`}
          </button>
        )}
      </div>
      <Loaded query={tokens} what="The tokens could not be read.">
        {() =>
          shown.length === 0 ? (
            <EmptyState title="There are no tokens.">
              A token lets a program or a person in, as viewer, operator or admin, and for some runs only.
            </EmptyState>
          ) : (
            <TokenTable tokens={shown} now={now} onRevoke={setOpen} />
          )
        }
      </Loaded>
      {open === "new" && <NewTokenDialog onClose={() => setOpen(null)} />}
      {open !== null && open !== "new" && <RevokeDialog token={open} onClose={() => setOpen(null)} />}
    </>
  );
}

type TokenTableProps = {
  readonly tokens: readonly Token[];
  readonly now: number;
  readonly onRevoke: (token: Token) => void;
};

function TokenTable({ tokens, now, onRevoke }: TokenTableProps): ReactNode {
  const columns: readonly Column<Token>[] = [
    {
      name: "Name",
      cell: ({ name, kind }) => (
        <span className="font-medium">
          <VisibleLine text={name} />
          {kind === "code" && <span className="font-normal text-ink-3"> login code</span>}
        </span>
      ),
    },
    { name: "Role", isUnnamed: true, cell: ({ role }) => role },
    {
      name: "Sees",
      width: "minmax(8rem,1fr)",
      cell: ({ scope }) => (
        <span className="text-ink-2">
          <VisibleLine text={scopeWords(scope)} />
        </span>
      ),
    },
    { name: "Last used", cell: ({ lastUsedAt }) => <Maybe at={lastUsedAt} never="never" /> },
    { name: "Expires", cell: (token) => <Expiry token={token} now={now} /> },
    {
      name: "Made",
      cell: ({ createdAt, createdBy }) => (
        <>
          <Ago at={createdAt} />
          {createdBy !== null && (
            <span className="text-ink-3">
              {" "}
              by <VisibleLine text={createdBy} />
            </span>
          )}
        </>
      ),
    },
    {
      name: "Act",
      align: "right",
      isUnnamed: true,
      cell: (token) =>
        tokenState(token, now) === "open" ? (
          <Button kind="quiet" className="-my-1" onClick={() => onRevoke(token)}>
            Revoke…
          </Button>
        ) : null,
    },
  ];
  return <Table label="Tokens" columns={columns} rows={tokens} keyOf={({ id }) => id} />;
}

function Maybe({ at, never }: { readonly at: string | null; readonly never: string }): ReactNode {
  return at === null ? <span className="text-ink-3">{never}</span> : <Ago at={at} />;
}

function Expiry({ token, now }: { readonly token: Token; readonly now: number }): ReactNode {
  if (token.revokedAt !== null) {
    return (
      <span className="text-failed">
        revoked <Ago at={token.revokedAt} />
      </span>
    );
  }
  const isOver = tokenState(token, now) === "expired";
  return (
    <span className={isOver ? "text-failed" : ""}>
      {isOver && "expired "}
      <Maybe at={token.expiresAt} never="never" />
    </span>
  );
}

function RevokeDialog({
  token,
  onClose,
}: {
  readonly token: Token;
  readonly onClose: () => void;
}): ReactNode {
  const { client } = useDashboard();
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => client.revokeToken({ tokenId: token.id }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["tokens"] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={
        <>
          Revoke <VisibleLine text={token.name} />?
        </>
      }
      verb="Revoke"
      kind="danger"
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>
        Requests with it are refused from now on, and sessions that were made with it end. It cannot be taken
        back: a new token has another secret.
      </p>
    </ConfirmDialog>
  );
}
