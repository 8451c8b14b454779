// The languages of the payers' pages, as ISO 639-1 codes.

export const LANGUAGE_CODES = ['en', 'fr', 'pt', 'sw', 'ar', 'am', 'bn'] as const

export type Language = (typeof LANGUAGE_CODES)[number]
