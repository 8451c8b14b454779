export interface KeyRow {
  key_id: string
  merchant_id: string
  name: string
  mode: 'test' | 'live'
  scopes: string[]
  allowed_ips: string[]
  rate_per_second: number | null
  rate_burst: number | null
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  replaced_by: string | null
}

export const KEY_COLUMNS = `key_id, merchant_id, name, mode, scopes, allowed_ips, rate_per_second, rate_burst, created_at,
  expires_at, last_used_at, revoked_at, replaced_by`
