import { Component, type ReactNode } from "react";
import { CodeNotFetched } from "../../browser/fetched-code.ts";
import { Button } from "../controls/button.tsx";
import { CodeNotFetchedNotice } from "./code-not-fetched.tsx";
import { Notice } from "./notice.tsx";

type Props = {
  /** A page is the `main` of the document; a view is inside of one. */
  readonly of: "page" | "view";
  readonly children: ReactNode;
  readonly resetKey?: string;
};

type State = { readonly error: Error | null; readonly at: string };

/** A fault of a page or a view itself. What is around it stays; another `resetKey` tries again. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null, at: this.props.resetKey ?? "" };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    const at = props.resetKey ?? "";
    return at === state.at ? null : { error: null, at };
  }

  override render(): ReactNode {
    const { of, children } = this.props;
    const { error } = this.state;
    if (error === null) return children;
    const notice =
      error instanceof CodeNotFetched ? <CodeNotFetchedNotice of={of} /> : <Fault of={of} error={error} />;
    return of === "page" ? <main className="mx-auto w-full max-w-2xl p-4 pt-12">{notice}</main> : notice;
  }
}

function Fault({ of, error }: { readonly of: "page" | "view"; readonly error: Error }): ReactNode {
  return (
    <Notice
      kind="problem"
      title={`This ${of} has failed.`}
      action={<Button onClick={() => location.reload()}>Reload</Button>}
    >
      <p>Runs are not affected: the page only shows them. Reload it; if it fails again, report this:</p>
      <p className="mt-1 font-mono text-xs">{error.message}</p>
    </Notice>
  );
}
