// What a connector says about an access token of its provider, and what it gets.

/** How to get a token. A connector makes one such object for each kind of token that it uses. */
export interface TokenGrant {
  /** Distinguishes the tokens of one account, such as collection and disbursement. */
  readonly name: string
  /** The account at the provider to which the token and its ration belong, such as an API user or an app key. */
  readonly account: string
  /** Everything that proves the account. A token that was granted for other secrets is not used. */
  readonly secrets: readonly string[]
  readonly ration?: TokenRation
  /** One request to the provider, and nothing else. */
  request(): Promise<TokenReply>
}

/** The provider's limit on requests for tokens, successful or not. */
export interface TokenRation {
  readonly grants: number
  readonly perMs: number
}

export type TokenReply =
  | { kind: 'granted'; token: string; expiresInMs: number }
  /** The provider says that the credentials are wrong. */
  | { kind: 'refused'; message: string }
  | { kind: 'failed'; message: string }

/** refused: the credentials are wrong. unavailable: there is no token now. */
export interface TokenFailure {
  kind: 'refused' | 'unavailable'
  message: string
}

export type TokenResult = { kind: 'token'; token: string } | TokenFailure

/** The tokens of one gateway account. */
export interface TokenSource {
  get(grant: TokenGrant): Promise<TokenResult>
  /** Another token, because the provider rejects this one. */
  replace(grant: TokenGrant, rejected: string): Promise<TokenResult>
}
