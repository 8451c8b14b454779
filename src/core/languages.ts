// The languages that payers are spoken to in, by their ISO 639-1 codes.

export const LANGUAGE_CODES = ['en', 'fr', 'pt', 'sw', 'ar', 'am', 'bn'] as const

export type Language = (typeof LANGUAGE_CODES)[number]
