// Callbacks with pawaPay's signatures.

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { PUBLIC_URL, type Webhook } from '../conformance.ts'

function makeKeys() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey }
}

export const PAWAPAY_KEYS = makeKeys()
export const OTHER_KEYS = makeKeys()

export interface CallbackOptions {
  at?: Date
  body?: object
  publicUrl?: string
  path?: string
  method?: string
  digest?: 'sha-256' | 'sha-512'
  encoding?: 'der' | 'ieee-p1363'
  privateKey?: KeyObject
  components?: readonly string[]
  algorithm?: string
}

const COMPONENTS = ['@method', '@authority', '@path', 'signature-date', 'content-digest', 'content-type']

/** A callback about a deposit that has reached a status, as sent to our public URL. */
export function signCallback(key: string, status = 'COMPLETED', options: CallbackOptions = {}): Webhook {
  const at = options.at ?? new Date()
  const fields = options.body ?? {
    depositId: key,
    status,
    amount: '1250.5000',
    currency: 'ZMW',
    country: 'ZMB',
    payer: { type: 'MMO', accountDetails: { phoneNumber: '260763456789', provider: 'MTN_MOMO_ZMB' } },
    created: at.toISOString(),
    metadata: {},
  }
  const body = Buffer.from(JSON.stringify(fields))
  const headers = {
    'content-type': 'application/json; charset=UTF-8',
    'signature-date': at.toISOString(),
    'content-digest': digestOf(body, options.digest ?? 'sha-512'),
  }
  return { headers: { ...headers, ...signatureOf(headers, at, options) }, body }
}

function digestOf(body: Buffer, algorithm: 'sha-256' | 'sha-512'): string {
  return `${algorithm}=:${createHash(algorithm.replace('-', '')).update(body).digest('base64')}:`
}

function signatureOf(headers: Record<string, string>, at: Date, options: CallbackOptions) {
  const { components = COMPONENTS, algorithm = 'ecdsa-p256-sha256', encoding = 'der' } = options
  const created = Math.floor(at.getTime() / 1_000)
  const list = components.map((name) => `"${name}"`).join(' ')
  const times = `created=${created};expires=${created + 60}`
  const input = `(${list});alg="${algorithm}";keyid="HTTP_EC_P256_KEY:1";${times}`
  const derived: Record<string, string> = {
    '@method': options.method ?? 'POST',
    '@authority': new URL(options.publicUrl ?? PUBLIC_URL).host,
    '@path': options.path ?? '/hooks/pawapay',
  }
  const lines = components.map((name) => `"${name}": ${derived[name] ?? headers[name]}`)
  const base = Buffer.from([...lines, `"@signature-params": ${input}`].join('\n'))
  const key = options.privateKey ?? PAWAPAY_KEYS.privateKey
  const signature = sign('sha256', base, { key, dsaEncoding: encoding })
  return { 'signature-input': `sig-pp=${input}`, signature: `sig-pp=:${signature.toString('base64')}:` }
}
