// An authenticator with a browser around it: makes passkeys and uses them, and can say anything that a broken or hostile
// one would say. Whatever it says, the signature is right, unless the caller changes the result.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export const ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const
export type AlgorithmName = (typeof ALGORITHMS)[number]

export const FLAGS = { UP: 0x01, UV: 0x04, BE: 0x08, BS: 0x10, AT: 0x40, ED: 0x80 }

export interface Said {
  type?: string
  challenge: string
  origin: string
  rpId: string
  flags?: number
  signCount?: number
  /** More members of the client data. */
  clientData?: Record<string, unknown>
  /** The bytes after the credential; the caller sets the flag ED. */
  extensions?: Buffer
}

export interface RegistrationSaid extends Said {
  attestation?: 'none' | 'packed'
  /** The members of the attestation object that differ. */
  attestationObject?: Record<string, Encodable>
  /** The COSE key that differs. */
  publicKey?: Buffer
}

interface CredentialJson<Response> {
  id: string
  rawId: string
  type: 'public-key'
  clientExtensionResults: Record<string, never>
  response: Response
}
export type RegistrationJson = CredentialJson<{ clientDataJSON: string; attestationObject: string }>
export type AssertionJson = CredentialJson<{
  clientDataJSON: string
  authenticatorData: string
  signature: string
}>

export interface Authenticator {
  credentialId: string
  /** The COSE key. */
  publicKey: Buffer
  register(said: RegistrationSaid): RegistrationJson
  assert(said: Said): AssertionJson
}

export function createAuthenticator(algorithm: AlgorithmName): Authenticator {
  const { privateKey, publicKey, coseNumber } = MAKERS[algorithm]()
  const id = randomBytes(32)
  const credentialId = id.toString('base64url')
  const signed = (authData: Buffer, clientData: Buffer) =>
    sign(algorithm === 'EdDSA' ? null : 'sha256', Buffer.concat([authData, sha256(clientData)]), privateKey)
  const credential = <Response>(response: Response): CredentialJson<Response> => ({
    id: credentialId,
    rawId: credentialId,
    type: 'public-key',
    clientExtensionResults: {},
    response,
  })
  return {
    credentialId,
    publicKey,
    register(said) {
      const clientData = clientDataOf('webauthn.create', said)
      const key = said.publicKey ?? publicKey
      const attested = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, key])
      const authData = authDataOf(said, FLAGS.UP | FLAGS.UV | FLAGS.AT, attested)
      const isPacked = said.attestation === 'packed'
      const statement: Encodable = isPacked ? { alg: coseNumber, sig: signed(authData, clientData) } : {}
      const object = {
        fmt: isPacked ? 'packed' : 'none',
        attStmt: statement,
        authData,
        ...said.attestationObject,
      }
      return credential({
        clientDataJSON: clientData.toString('base64url'),
        attestationObject: encodeCbor(object).toString('base64url'),
      })
    },
    assert(said) {
      const clientData = clientDataOf('webauthn.get', said)
      const authData = authDataOf(said, FLAGS.UP | FLAGS.UV)
      return credential({
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signed(authData, clientData).toString('base64url'),
      })
    },
  }
}

function clientDataOf(type: string, { type: other, challenge, origin, clientData }: Said): Buffer {
  return Buffer.from(
    JSON.stringify({ type: other ?? type, challenge, origin, crossOrigin: false, ...clientData }),
  )
}

function authDataOf(said: Said, usualFlags: number, attested = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(said.flags ?? usualFlags)
  head.writeUInt32BE(said.signCount ?? 0, 1)
  return Buffer.concat([sha256(said.rpId), head, attested, said.extensions ?? Buffer.alloc(0)])
}

interface MadeKey {
  privateKey: KeyObject
  publicKey: Buffer
  coseNumber: number
}

const MAKERS: Record<AlgorithmName, () => MadeKey> = {
  ES256: () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x, y } = publicKey.export({ format: 'jwk' })
    const key = new Map<number, Encodable>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, decoded(x)],
      [-3, decoded(y)],
    ])
    return { privateKey, publicKey: encodeCbor(key), coseNumber: -7 }
  },
  EdDSA: () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const { x } = publicKey.export({ format: 'jwk' })
    const key = new Map<number, Encodable>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, decoded(x)],
    ])
    return { privateKey, publicKey: encodeCbor(key), coseNumber: -8 }
  },
  RS256: () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const { n, e } = publicKey.export({ format: 'jwk' })
    const key = new Map<number, Encodable>([
      [1, 3],
      [3, -257],
      [-1, decoded(n)],
      [-2, decoded(e)],
    ])
    return { privateKey, publicKey: encodeCbor(key), coseNumber: -257 }
  },
}

const decoded = (text: string | undefined) => Buffer.from(text ?? '', 'base64url')
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()

export type Encodable =
  | number
  | string
  | boolean
  | Buffer
  | Encodable[]
  | Map<number | string, Encodable>
  | { [key: string]: Encodable }

export function encodeCbor(value: Encodable): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'boolean') return Buffer.from([value ? 0xf5 : 0xf4])
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)])
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(encodeCbor)])
}

function head(major: number, argument: number): Buffer {
  const type = major << 5
  if (argument < 24) return Buffer.from([type | argument])
  return argument < 0x100
    ? Buffer.from([type | 24, argument])
    : Buffer.concat([Buffer.from([type | 25]), uint16(argument)])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
