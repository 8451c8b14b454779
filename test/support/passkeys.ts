// Passkeys of our own authenticator before two verifiers: ours, and @simplewebauthn/server.

import { randomBytes } from 'node:crypto'
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import { verifyAssertion, verifyRegistration } from '../../src/kit/webauthn.ts'
import {
  type AlgorithmName,
  type AssertionJson,
  createAuthenticator,
  type RegistrationJson,
} from './authenticator.ts'

export const SITE = { origin: 'https://pay.example.com', rpId: 'pay.example.com' }
export const CHALLENGE = randomBytes(32).toString('base64url')
export const SAID = { ...SITE, challenge: CHALLENGE }
export const AUTHENTICATORS = {
  ES256: createAuthenticator('ES256'),
  EdDSA: createAuthenticator('EdDSA'),
  RS256: createAuthenticator('RS256'),
}

interface PasskeyOptions {
  requireUserVerification?: boolean
  storedSignCount?: number
  algorithm?: AlgorithmName
}

export const isAccepted = (result: object): boolean => !('refused' in result)
export const reasonOf = (result: object) => ('refused' in result ? result.refused : 'accepted')

export function verifyNew(response: unknown, { requireUserVerification = true }: PasskeyOptions = {}) {
  return verifyRegistration({ ...SAID, response, requireUserVerification })
}

export function verifyUse(response: unknown, options: PasskeyOptions = {}) {
  const { requireUserVerification = true, storedSignCount = 0, algorithm = 'ES256' } = options
  const { credentialId, publicKey } = AUTHENTICATORS[algorithm]
  const credential = { credentialId, publicKey, signCount: storedSignCount }
  return verifyAssertion({ ...SAID, response, requireUserVerification, credential })
}

const expectedByOther = ({ requireUserVerification = true }: PasskeyOptions) => ({
  expectedChallenge: CHALLENGE,
  expectedOrigin: SITE.origin,
  expectedRPID: SITE.rpId,
  requireUserVerification,
})

/** What @simplewebauthn/server returns; undefined if it refuses or throws. */
export async function otherOnNew(response: RegistrationJson, options: PasskeyOptions) {
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      ...expectedByOther(options),
    })
    return verified ? registrationInfo : undefined
  } catch {
    return undefined
  }
}

export async function otherOnUse(response: AssertionJson, options: PasskeyOptions) {
  const { credentialId: id, publicKey } = AUTHENTICATORS[options.algorithm ?? 'ES256']
  const credential = { id, publicKey: new Uint8Array(publicKey), counter: options.storedSignCount ?? 0 }
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      credential,
      ...expectedByOther(options),
    })
    return verified ? authenticationInfo : undefined
  } catch {
    return undefined
  }
}
