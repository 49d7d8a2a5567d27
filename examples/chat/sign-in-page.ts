/** Shown to a browser that has no cookie yet. */
export const signInPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Sign in</title>
    <link rel="stylesheet" href="/style.css" />
    <link rel="icon" href="data:," />
  </head>
  <body class="sign-in">
    <form method="post" action="/sign-in">
      <h1>Kettle &amp; Co</h1>
      <label for="name">Your name</label>
      <input id="name" name="name" autocomplete="username" required maxlength="40" value="ann" />
      <button class="primary">Sign in</button>
      <p>An example: any name will do.</p>
    </form>
  </body>
</html>
`;
