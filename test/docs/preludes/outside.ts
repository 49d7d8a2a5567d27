// Services of the reader's own: each block says by its name and its use what they do.

export declare const shop: { refund(order: string, cents: number): Promise<{ id: string }> };

export declare const mailer: {
  send(
    mail: { to: string; subject: string; body: string },
    options: { messageId: string; signal: AbortSignal },
  ): Promise<{ status: number; id: string }>;
  find(messageId: string): Promise<{ id: string } | null>;
};

export declare const printer: {
  submit(order: { pages: number }): Promise<{ jobId: string }>;
  untilDone(jobId: string): Promise<{ printed: number }>;
  find(jobId: string): Promise<{ printed: number } | null>;
};

export declare function countIssues(file: string): Promise<number>;

export declare function askCrm(question: string, key: string): Promise<string>;
