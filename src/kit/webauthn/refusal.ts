// Why a passkey's response is refused. Inside this folder a refusal is thrown; verifyRegistration and verifyAssertion return it.

export type PasskeyRefusal =
  | 'malformed'
  | 'wrong_type'
  | 'wrong_challenge'
  | 'wrong_origin'
  | 'cross_origin'
  | 'wrong_rp_id'
  | 'wrong_credential'
  | 'user_not_present'
  | 'user_not_verified'
  | 'inconsistent_backup_flags'
  | 'unsupported_key'
  | 'attestation_refused'
  | 'wrong_signature'
  | 'sign_count_did_not_rise'

export class Refused extends Error {
  readonly reason: PasskeyRefusal

  constructor(reason: PasskeyRefusal) {
    super(reason)
    this.name = 'Refused'
    this.reason = reason
  }
}
