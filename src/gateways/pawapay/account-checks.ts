// What cowry doctor asks pawaPay: the configuration of the account (providers, callback URLs, signatures), and its current
// public keys.

import type { KeyObject } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { GatewayCheck } from '../gateway.ts'
import { checkByHand, checkFailed, checkOk, Maybe } from '../reply.ts'
import { readPublicKeys } from './signature.ts'

interface PawapayAccount {
  /** Empty: no public key is configured. */
  keys: readonly KeyObject[]
  callbackUrl: string
  /** Whether our requests are signed. */
  signsRequests: boolean
  read(path: string): Promise<HttpResult>
}

const Operation = Type.Object({ callbackUrl: Maybe(Type.String()) })

const Configuration = Type.Object({
  signatureConfiguration: Maybe(
    Type.Object({ signedRequestsOnly: Maybe(Type.Boolean()), signedCallbacks: Maybe(Type.Boolean()) }),
  ),
  countries: Type.Array(
    Type.Object({
      providers: Type.Array(
        Type.Object({
          provider: Type.String(),
          currencies: Type.Array(
            // The reference documents an object by operation, an example of pawaPay has a list.
            Type.Object({
              operationTypes: Type.Union([Type.Record(Type.String(), Operation), Type.Array(Operation)]),
            }),
          ),
        }),
      ),
    }),
  ),
})

const readConfiguration = jsonReader(Configuration)
const readKeyList = jsonReader(Type.Array(Type.Object({ key: Type.String() })))

export async function checkPawapayAccount(account: PawapayAccount): Promise<GatewayCheck[]> {
  const [configured, published] = await Promise.all([
    account.read('/active-conf?operationType=DEPOSIT'),
    account.read('/public-key/http'),
  ])
  const configuration = readBody(configured, readConfiguration)
  const checks = configuration
    ? [
        checkProviders(configuration),
        checkSignatures(configuration, account),
        checkCallbacks(configuration, account),
      ]
    : [checkByHand('account', 'pawaPay did not return the configuration: see it in its dashboard.')]
  return [...checks, ...checkPublicKey(readBody(published, readKeyList), account)]
}

function readBody<Body>(result: HttpResult, read: (body: Buffer) => Body | undefined): Body | undefined {
  return result.kind === 'answered' && result.status === 200 ? read(result.body) : undefined
}

type PawapayConfiguration = Static<typeof Configuration>

const providersOf = ({ countries }: PawapayConfiguration) => countries.flatMap(({ providers }) => providers)

function checkProviders(configuration: PawapayConfiguration): GatewayCheck {
  const names = providersOf(configuration).map(({ provider }) => provider)
  if (names.length > 0) return checkOk('providers', names.join(', '))
  return checkFailed(
    'providers',
    'No provider may collect deposits: ask pawaPay to enable the mobile networks.',
  )
}

function checkSignatures(
  { signatureConfiguration }: PawapayConfiguration,
  { keys, signsRequests }: PawapayAccount,
): GatewayCheck {
  const name = 'signatures'
  const { signedRequestsOnly, signedCallbacks } = signatureConfiguration ?? {}
  if (signedRequestsOnly && !signsRequests)
    return checkFailed(
      name,
      'The account takes only signed requests: set GATEWAY_PAWAPAY_SIGNING_KEY and GATEWAY_PAWAPAY_SIGNING_KEY_ID, with a key whose public part is in the dashboard.',
    )
  if (keys.length === 0)
    return checkByHand(
      name,
      'Without the public key callbacks are rejected, and payments are found by polling only. Switch on signed callbacks in the dashboard, and set GATEWAY_PAWAPAY_PUBLIC_KEY.',
    )
  if (signedCallbacks) return checkOk(name)
  return checkFailed(name, 'Switch on signed callbacks in the dashboard: unsigned ones are rejected.')
}

function checkCallbacks(configuration: PawapayConfiguration, { callbackUrl }: PawapayAccount): GatewayCheck {
  const name = 'callback URL'
  const reported = providersOf(configuration)
    .flatMap(({ currencies }) => currencies)
    .flatMap(({ operationTypes }) => Object.values(operationTypes))
    .flatMap((operation) => operation.callbackUrl ?? [])
  const others = [...new Set(reported.filter((url) => url !== callbackUrl))]
  if (others.length > 0)
    return checkFailed(
      name,
      `Deposits are reported to ${others.join(', ')}: set ${callbackUrl} in the dashboard.`,
    )
  if (reported.length > 0) return checkOk(name)
  return checkByHand(name, `See in the dashboard that the callback URL of deposits is ${callbackUrl}.`)
}

function checkPublicKey(
  published: readonly { key: string }[] | undefined,
  { keys }: PawapayAccount,
): GatewayCheck[] {
  const current = published?.flatMap(({ key }) => readPublicKeys(key)) ?? []
  if (keys.length === 0 || current.length === 0) return []
  const name = 'public key'
  if (current.some((one) => keys.some((key) => key.equals(one)))) return [checkOk(name)]
  return [
    checkFailed(
      name,
      'GATEWAY_PAWAPAY_PUBLIC_KEY is not a current key of pawaPay, so callbacks are rejected: take it from GET /v2/public-key/http.',
    ),
  ]
}
