// Sign-in with an identity provider: OpenID Connect with the authorization code flow, PKCE (S256), state and nonce. The
// library is loaded at the first sign-in. An account is known by issuer and subject; the e-mail is returned only if the
// provider has verified it.

import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'
import { isEmail } from '../../core/text/formats.ts'
import { createCache } from '../cache.ts'
import type { Clock } from '../clock.ts'
import { constantTimeEquals } from '../crypto.ts'
import type { Random } from '../random.ts'
import type { PublicHttp } from './public-http.ts'

export interface OidcProvider {
  /** As the provider's discovery document names it. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Our address to which the provider sends the browser back. */
  redirectUri: string
}

interface Needs {
  clock: Clock
  random: Random
  /** It refuses addresses in the private network that the operator has not allowed, and follows no redirects. */
  http: Pick<PublicHttp, 'get' | 'post'>
  /** For a provider on a developer's own machine, in staging only. */
  allowLoopbackHttp: boolean
  /** Of each call to the provider; a sign-in makes at most four. */
  timeoutMs?: number
}

/** The secrets of one sign-in. The caller binds them to the browser, stores them for minutes, and uses them once. */
export interface PendingSignIn {
  state: string
  nonce: string
  codeVerifier: string
}

export interface OidcIdentity {
  issuer: string
  subject: string
  email: string
}

export type OidcRefusal =
  | 'provider_unavailable'
  | 'denied_by_provider'
  | 'wrong_state'
  | 'code_refused'
  | 'invalid_response'
  | 'email_missing'
  | 'email_unverified'

/** The detail is for the log: it names the check, and no value of a token. */
export interface RefusedSignIn {
  refused: OidcRefusal
  detail: string
}

export interface Oidc {
  /** The address of the provider to send the browser to. */
  begin(): Promise<{ url: string; pending: PendingSignIn } | RefusedSignIn>
  /** The query with which the provider sent the browser back. */
  finish(query: URLSearchParams, pending: PendingSignIn): Promise<OidcIdentity | RefusedSignIn>
}

const TIMEOUT_MS = 5_000
// Providers change endpoints rarely; the library fetches the keys again after five minutes.
const DISCOVERY_TTL_MS = 3_600_000
// Key sets with certificates are the largest of the documents.
const MAX_BODY_BYTES = 262_144
const SECRET_BYTES = 32
const MAX_SUBJECT_LENGTH = 255

/** Throws for an issuer that must not be used. */
export function createOidc(needs: Needs, provider: OidcProvider): Oidc {
  const { clock, random, allowLoopbackHttp } = needs
  const issuer = new URL(provider.issuer)
  const requireSecure = (url: string): void => {
    if (!isSecure(url, allowLoopbackHttp))
      throw new Unavailable('the identity provider must be reached by https')
  }
  requireSecure(issuer.href)

  const discover = async (): Promise<Configuration> => {
    const client = await import('openid-client')
    const options = {
      [client.customFetch]: createFetch(needs, requireSecure),
      // The check of the library has no exception for loopback; ours stands before every request.
      execute: [client.enableNonRepudiationChecks, client.allowInsecureRequests],
    }
    const authenticate: ClientAuth = (server, ...rest) => {
      // The specification's default, if the provider does not say otherwise.
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const isBasic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
      const method = isBasic ? client.ClientSecretBasic : client.ClientSecretPost
      method(provider.clientSecret)(server, ...rest)
    }
    const found = await client.discovery(issuer, provider.clientId, undefined, authenticate, options)
    const server = found.serverMetadata()
    // The library accepts the template of issuers of a provider for many tenants: any tenant could then sign in here.
    if (new URL(server.issuer).href !== issuer.href)
      throw new Unavailable('the discovered issuer is another one')
    if (server.authorization_endpoint === undefined)
      throw new Unavailable('the provider has no authorization endpoint')
    requireSecure(server.authorization_endpoint)
    return found
  }
  const configurations = createCache({ clock, ttlMs: DISCOVERY_TTL_MS, maxEntries: 1, load: discover })
  const newSecret = () => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')

  return {
    begin: () =>
      catchFailure('provider_unavailable', async () => {
        const configuration = await configurations.get(issuer.href)
        const client = await import('openid-client')
        const pending = { state: newSecret(), nonce: newSecret(), codeVerifier: newSecret() }
        const url = client.buildAuthorizationUrl(configuration, {
          redirect_uri: provider.redirectUri,
          scope: 'openid email',
          state: pending.state,
          nonce: pending.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(pending.codeVerifier),
          code_challenge_method: 'S256',
        })
        return { url: url.href, pending }
      }),

    finish: async (query, pending) => {
      // Before any call: a forged return must not make us call the provider.
      if (!constantTimeEquals(Buffer.from(query.get('state') ?? ''), Buffer.from(pending.state)))
        return { refused: 'wrong_state', detail: 'the state is not the one that we sent' }
      return catchFailure('invalid_response', async () => {
        const configuration = await configurations.get(issuer.href)
        return exchangeCode(configuration, returnAddress(provider, query), pending)
      })
    },
  }
}

/** Our own address, not the one of the request: a proxy may have changed that. */
function returnAddress({ redirectUri }: OidcProvider, query: URLSearchParams): URL {
  const url = new URL(redirectUri)
  url.search = query.toString()
  return url
}

async function exchangeCode(
  configuration: Configuration,
  currentUrl: URL,
  { state, nonce, codeVerifier }: PendingSignIn,
): Promise<OidcIdentity | RefusedSignIn> {
  const client = await import('openid-client')
  const tokens = await client.authorizationCodeGrant(configuration, currentUrl, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (!claims) return { refused: 'invalid_response', detail: 'there is no ID token' }
  const { iss: issuer, sub: subject } = claims
  if (subject === '' || subject.length > MAX_SUBJECT_LENGTH)
    return {
      refused: 'invalid_response',
      detail: 'the subject is empty, or longer than the specification allows',
    }
  const hasEndpoint = configuration.serverMetadata().userinfo_endpoint !== undefined
  // Some providers put the e-mail into the ID token only if they are configured to.
  const isAsked = claims.email === undefined && hasEndpoint
  const person = isAsked ? await client.fetchUserInfo(configuration, tokens.access_token, subject) : claims
  const { email, email_verified: isVerified } = person
  if (typeof email !== 'string' || !isEmail(email))
    return { refused: 'email_missing', detail: 'the provider names no e-mail address' }
  if (isVerified !== true)
    return { refused: 'email_unverified', detail: 'the provider does not say that the e-mail was verified' }
  return { issuer, subject, email }
}

/** Plain http only to this machine, and only where that is allowed. */
function isSecure(url: string, allowLoopbackHttp: boolean): boolean {
  const { protocol, hostname } = new URL(url)
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && allowLoopbackHttp && isLoopback)
}

/** The provider could not be called, or its discovery document must not be used. */
class Unavailable extends Error {}

/** Every call of the library, by our own client. */
function createFetch(
  { http, timeoutMs = TIMEOUT_MS }: Needs,
  requireSecure: (url: string) => void,
): CustomFetch {
  return async (url, { method, headers, body }) => {
    requireSecure(url)
    const limits = { headers, timeoutMs, maxBodyBytes: MAX_BODY_BYTES }
    const result =
      method === 'POST'
        ? await http.post(url, { ...limits, body: String(body ?? '') })
        : await http.get(url, limits)
    if (result.kind === 'failed') throw new Unavailable(result.message)
    if (result.status >= 500 || result.status < 200)
      throw new Unavailable(`The provider responded with status ${result.status}.`)
    const hasBody = result.body !== ''
    return new Response(hasBody ? result.body : null, { status: result.status, headers: result.headers })
  }
}

async function catchFailure<Result>(
  otherwise: OidcRefusal,
  attempt: () => Promise<Result>,
): Promise<Result | RefusedSignIn> {
  const client = await import('openid-client')
  try {
    return await attempt()
  } catch (error) {
    const reasons = reasonsOf(error)
    const detail = reasons.map(describeReason).join(': ')
    const has = (kind: new (...given: never[]) => Error) => reasons.some((reason) => reason instanceof kind)
    if (has(Unavailable)) return { refused: 'provider_unavailable', detail }
    if (has(client.AuthorizationResponseError)) return { refused: 'denied_by_provider', detail }
    if (has(client.ResponseBodyError)) return { refused: 'code_refused', detail }
    const isOfProvider = has(client.ClientError) || has(client.WWWAuthenticateChallengeError)
    if (isOfProvider || reasons.some(isInvalidUrl)) return { refused: otherwise, detail }
    throw error
  }
}

/** The library throws it for an address in the provider's documents that is none. */
const isInvalidUrl = (error: Error) => 'code' in error && error.code === 'ERR_INVALID_URL'

/** With the code of an OAuth error, such as invalid_client; the provider's own words may quote what we sent. */
function describeReason(error: Error): string {
  const code = 'error' in error && typeof error.error === 'string' ? error.error : ''
  return /^[a-z_]{1,40}$/.test(code) ? `${error.message} (${code})` : error.message
}

/** The error and its causes; the cause may also be a document of the provider, which is left out. */
function reasonsOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...reasonsOf(error.cause)] : []
}
