// An OpenID Connect provider on this machine. It checks what a provider checks (client, PKCE, redirect address, codes used
// once), and can make every mistake that a relying party must notice.

import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SignInMistakes {
  /** Members of the ID token that differ; undefined leaves one out. */
  claims?: Record<string, unknown>
  /** Members of the answer of the userinfo endpoint. */
  userinfo?: Record<string, unknown>
  /** How the ID token is signed. */
  signing?: 'RS256' | 'none' | 'HS256' | 'other key'
}

export interface IdentityProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** Members of the discovery document that differ. */
  metadata: Record<string, unknown>
  /** The paths that were called, in order. */
  calls: string[]
  /** Instead of an answer: a status without a body, or silence. */
  failure: { path: string; status: number | 'silence' } | undefined
  /** What the browser does: the person signs in at the address, and is sent back with this query. */
  signIn(url: string, mistakes?: SignInMistakes): URLSearchParams
  close(): Promise<void>
}

interface IssuedCode {
  challenge: string
  nonce: string
  redirectUri: string
  mistakes: SignInMistakes
}

const SUBJECT = 'subject-1'
export const PERSON = { subject: SUBJECT, email: 'ada@example.com' }

const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const otherKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const codes = new Map<string, IssuedCode>()
  const accessTokens = new Map<string, SignInMistakes>()
  const clientId = 'cowry'
  const clientSecret = randomUUID()

  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://provider').pathname
    provider.calls.push(path)
    if (provider.failure?.path === path) {
      if (provider.failure.status !== 'silence') response.writeHead(provider.failure.status).end()
      return
    }
    const [status, body] = await answer(path, request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A boundary: a TCP server has an address with a port.
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const provider: IdentityProvider = {
    issuer,
    clientId,
    clientSecret,
    metadata: {},
    calls: [],
    failure: undefined,
    signIn(url, mistakes = {}) {
      const query = new URL(url).searchParams
      const code = randomUUID()
      codes.set(code, {
        challenge: query.get('code_challenge') ?? '',
        nonce: query.get('nonce') ?? '',
        redirectUri: query.get('redirect_uri') ?? '',
        mistakes,
      })
      return new URLSearchParams({ code, state: query.get('state') ?? '', iss: issuer })
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function answer(path: string, request: IncomingMessage): Promise<[number, unknown]> {
    switch (path) {
      case '/.well-known/openid-configuration':
        return [200, { ...discoveryOf(issuer), ...provider.metadata }]
      case '/keys':
        return [
          200,
          { keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] },
        ]
      case '/token':
        return exchange(request.headers.authorization ?? '', new URLSearchParams(await readBody(request)))
      case '/userinfo': {
        const mistakes = accessTokens.get(request.headers.authorization ?? '')
        return mistakes ? [200, { sub: SUBJECT, ...mistakes.userinfo }] : [401, {}]
      }
      default:
        return [404, {}]
    }
  }

  /** Both parts are form-encoded before they are joined (RFC 6749 §2.3.1). */
  function isClient(authorization: string): boolean {
    const [id = '', secret = ''] = Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
      .toString()
      .split(':')
    return decodeURIComponent(id) === clientId && decodeURIComponent(secret) === clientSecret
  }

  function exchange(authorization: string, form: URLSearchParams): [number, unknown] {
    if (!isClient(authorization) && form.get('client_secret') !== clientSecret)
      return [401, { error: 'invalid_client' }]
    const code = form.get('code') ?? ''
    const issued = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (issued?.challenge !== challenge || issued.redirectUri !== form.get('redirect_uri'))
      return [400, { error: 'invalid_grant' }]
    const accessToken = randomUUID()
    accessTokens.set(`Bearer ${accessToken}`, issued.mistakes)
    return [200, { access_token: accessToken, token_type: 'Bearer', id_token: idToken(issued) }]
  }

  function idToken({ nonce, mistakes }: IssuedCode): string {
    const now = Math.floor(Date.now() / 1_000)
    const usual = { iss: issuer, sub: SUBJECT, aud: clientId, iat: now, exp: now + 300, nonce }
    const claims = { ...usual, email: PERSON.email, email_verified: true, ...mistakes.claims }
    const signing = mistakes.signing ?? 'RS256'
    const alg = signing === 'other key' ? 'RS256' : signing
    const data = `${json({ alg, kid: 'k1' })}.${json(claims)}`
    return `${data}.${signatureOf(signing, data)}`
  }

  function signatureOf(signing: NonNullable<SignInMistakes['signing']>, data: string): string {
    const rsa = (key: KeyObject) => sign('sha256', Buffer.from(data), key).toString('base64url')
    if (signing === 'none') return ''
    if (signing === 'HS256') return createHmac('sha256', clientSecret).update(data).digest('base64url')
    return rsa(signing === 'other key' ? otherKeys.privateKey : keys.privateKey)
  }

  return provider
}

function discoveryOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    // It supports too much, so that the relying party must refuse by itself.
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    authorization_response_iss_parameter_supported: true,
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
