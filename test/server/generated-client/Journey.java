// What a program of another language does with the generated client. Prints a line for each thing that it has seen.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import run.pawl.client.ApiClient;
import run.pawl.client.ApiException;
import run.pawl.client.api.ActsApi;
import run.pawl.client.api.LiveApi;
import run.pawl.client.api.RunsApi;
import run.pawl.client.api.WaitsApi;
import run.pawl.client.model.Approval;
import run.pawl.client.model.NewRun;
import run.pawl.client.model.RunHead;
import run.pawl.client.model.RunStatus;
import run.pawl.client.model.StartedRun;
import run.pawl.client.model.Wait;
import run.pawl.client.model.WaitDetail;

public class Journey {
  public static void main(String[] given) throws Exception {
    String url = given[0];
    String token = given[1];
    RunsApi runs = new RunsApi(client(url, token));
    System.out.println("runs before: " + listed(runs));

    NewRun start = new NewRun().pipeline("asks").input("the report");
    StartedRun started = new ActsApi(client(url, token)).startRun("journey-1", start);
    String runId = started.getRunId();
    System.out.println("started, existed: " + started.getExisted());

    CountDownLatch isOpen = new CountDownLatch(1);
    CompletableFuture<Void> stream = CompletableFuture.runAsync(() -> follow(url, token, runId, isOpen));
    isOpen.await();

    Wait wait = firstWait(runs, runId);
    WaitsApi waits = new WaitsApi(client(url, token));
    WaitDetail shown = waits.getWait(wait.getWaitId());
    System.out.println("asked to approve: " + shown.getArguments());
    Wait approved = waits.approveWait(wait.getWaitId(), new Approval().argumentsHash(shown.getArgumentsHash()));
    System.out.println("approved by: " + approved.getAnsweredBy());
    stream.join();
    System.out.println("runs after: " + listed(runs));

    try {
      runs.getRun("no-such-run");
    } catch (ApiException problem) {
      System.out.println("no such run: " + problem.getCode());
    }
    System.exit(0);
  }

  static ApiClient client(String url, String token) {
    URI address = URI.create(url);
    ApiClient client = new ApiClient();
    client.setScheme(address.getScheme()).setHost(address.getHost()).setPort(address.getPort()).setBasePath("");
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    return client;
  }

  static int listed(RunsApi runs) throws ApiException {
    return runs.listRuns(null, null, null, null, null, null, null, null, null, null, null).getItems().size();
  }

  static Wait firstWait(RunsApi runs, String runId) throws Exception {
    for (;;) {
      RunHead head = runs.getRun(runId).getHead();
      List<Wait> waits = runs.listRunWaits(runId, null, null).getItems();
      if (head.getStatus() == RunStatus.WAITING && !waits.isEmpty()) return waits.get(0);
      Thread.sleep(20);
    }
  }

  /** The stream has no end: it is read as it comes, until the mail is sent and the next question is asked. */
  static void follow(String url, String token, String runId, CountDownLatch isOpen) {
    ApiClient client = client(url, token);
    client.setResponseInterceptor(response -> {
      isOpen.countDown();
      System.out.println("streamed: " + streamed(response));
      throw new Left();
    });
    try {
      new LiveApi(client).stream(runId, null, null, null);
    } catch (ApiException problem) {
      throw new IllegalStateException(problem);
    } catch (Left left) {
      return;
    }
  }

  static String streamed(HttpResponse<InputStream> response) {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(response.body()))) {
      boolean isHello = false;
      boolean isSent = false;
      for (String line; (line = lines.readLine()) != null; ) {
        isHello |= line.equals("event: hello");
        isSent |= line.contains("It is sent.") || line.contains("turn.committed");
        if (isSent) return response.statusCode() + (isHello ? " hello" : "") + " and what was done";
      }
      return "an end";
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  static class Left extends RuntimeException {}
}
