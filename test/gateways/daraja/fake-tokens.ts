// For tests: the apps of the fake Daraja, their access tokens, and the password of a prompt.

import { randomUUID } from 'node:crypto'
import type { FakeReply, FakeRequest } from '../fake-server.ts'
import { errorReply, reply } from './fake-records.ts'

export const SHORTCODE = '600984'
const PASSKEY = 'bfb279f9aa9bdbcf158e97dd71a467cd2e0c893059b10f78e6b72ada1ed2c919'

export const CREDENTIALS = {
  consumerKey: 'Gk9vQ2pXm4Rt7Lz1Bw5Yc8Ns',
  consumerSecret: 'hT3xVb6NqZ0sKfE2',
  shortcode: SHORTCODE,
  passkey: PASSKEY,
  pullNumber: '+254722000000',
  initiator: 'cowryapi',
  securityCredential: 'Qx7'.repeat(114),
} as const

/** Refunds by payout, from another shortcode and by another app. */
export const PAYOUT_CREDENTIALS = {
  ...CREDENTIALS,
  payoutShortcode: '600426',
  payoutConsumerKey: 'Pay0utAppKeyOfTheB2Cside',
  payoutConsumerSecret: 'pAy0utSecretOfB2C',
} as const

export const OTHER_CREDENTIALS = {
  ...CREDENTIALS,
  consumerKey: 'AppOfSomebodyElseAtDaraja',
  consumerSecret: 'SecretOfSomebody',
} as const

const APPS: readonly [string, string][] = [
  [CREDENTIALS.consumerKey, CREDENTIALS.consumerSecret],
  [PAYOUT_CREDENTIALS.payoutConsumerKey, PAYOUT_CREDENTIALS.payoutConsumerSecret],
]

export function grantTokens() {
  // The app of each valid token.
  const granted = new Map<string, string>()

  const grant = ({ headers }: FakeRequest): FakeReply => {
    const given = Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
    const app = APPS.find(([key, secret]) => given === `${key}:${secret}`)
    // An app that this environment does not know gets no body.
    if (!app) return { http: 400 }
    const token = randomUUID()
    granted.set(token, app[0])
    return reply({ access_token: token, expires_in: '3599' })
  }

  return {
    rejectAll: () => granted.clear(),
    /** The response, unless the request may go further. */
    handle(request: FakeRequest): FakeReply | undefined {
      const { path, headers, text, method, query } = request
      if (
        path === '/oauth/v1/generate' &&
        method === 'GET' &&
        query.get('grant_type') === 'client_credentials'
      )
        return grant(request)
      const app = granted.get(headers.authorization?.replace('Bearer ', '') ?? '')
      if (app === undefined) return errorReply(404, '404.001.03', 'Invalid Access Token')
      const isPayout = /^\/mpesa\/(b2c|transactionstatus)\//.test(path)
      if (isPayout !== (app === PAYOUT_CREDENTIALS.payoutConsumerKey))
        return errorReply(401, '401.002.01', 'Invalid API call as no apiproduct match found')
      return path.startsWith('/mpesa/stkpush') ? checkPassword(JSON.parse(text)) : undefined
    },
  }
}

function checkPassword({ BusinessShortCode, Password, Timestamp }: Record<string, string>) {
  const expected = Buffer.from(`${SHORTCODE}${PASSKEY}${Timestamp}`).toString('base64')
  if (BusinessShortCode === SHORTCODE && Password === expected && /^\d{14}$/.test(Timestamp ?? ''))
    return undefined
  return errorReply(500, '500.001.1001', '[MerchantValidate] - Wrong credentials')
}
