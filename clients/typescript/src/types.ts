/** The types of what is asked and answered, made of the server's OpenAPI document (`openapi.ts`). */

import type { components, operations } from "./openapi.js";

type Shapes = components["schemas"];

/** `knowledge_scope` → `knowledgeScope`: options are written as JavaScript writes them, and sent in the service's names. */
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
/** The members of a request as options; those that are arguments of their own are left out. */
export type Members<Shape, Own extends keyof Shape = never> = {
  readonly [Name in keyof Shape as Name extends Own ? never : Name extends string ? Camel<Name> : never]?: Shape[Name] | undefined;
};

export type Fragment = Omit<Shapes["FragmentShape"], "metadata"> & { metadata: { [name: string]: any } };
export type Passage = Shapes["PassageShape"];
export type Snippet = Shapes["SnippetShape"];
export type Item = Shapes["ItemShape"];
export type Answer = Shapes["AnswerShape"];
export type AnswerClaim = Shapes["AnswerClaimShape"];
export type DroppedClaim = Shapes["DroppedClaimShape"];
export type Verification = Shapes["VerifyAnswerShape"];
export type Claim = NonNullable<Shapes["VerifyRequestShape"]["claims"]>[number];
export type Scope = Shapes["ScopeShape"];
export type Turn = Shapes["TurnShape"];

export type SearchOptions = Members<Shapes["SearchRequestShape"], "query">;
export type ContextOptions = Members<Shapes["ContextRequestShape"], "retrieval_query" | "query">;
export type AnswerOptions = Members<Shapes["AnswerRequestShape"], "query" | "stream">;
export type VerifyOptions = Members<Shapes["VerifyRequestShape"], "answer">;
export type RetrieveOptions = Omit<Members<Shapes["UnifiedRequestShape"], "query">, "processes"> & Processes;
export type InferOptions = Omit<Members<Shapes["InferRequestShape"]>, "processes"> & Processes;

interface Processes {
  /** Names, or one name. */
  readonly processes?: string | readonly string[] | undefined;
}

type Body<Name extends keyof operations> = operations[Name] extends { requestBody?: { content: { "application/json": infer Sent } } } ? Sent : never;
type Answered<Name extends keyof operations> = operations[Name]["responses"] extends { 200: { content: { "application/json": infer Told } } } ? Told : never;
type Query<Name extends keyof operations> = operations[Name]["parameters"] extends { query?: infer Asked } ? NonNullable<Asked> : never;

export type Documents = Answered<"get_documents">;
export type Document = Answered<"get_documents_one">;
export type DocumentPassages = Answered<"get_documents_passages_one">;
export type Corrections = Answered<"get_corrections">;
export type Correction = Answered<"post_corrections">;
export type Uploaded = Answered<"post_sources_documents_one">;
export type Deleted = Answered<"delete_documents_one">;
export type Moved = Answered<"post_documents_move_one">;
export type RulesOverview = Answered<"get_rules">;
export type ProposedRules = Answered<"get_rules_review">;
export type ProposalReport = Answered<"post_rules_propose">;
export type ImportReport = Answered<"post_rules_import">;

export type DocumentsOptions = Members<Query<"get_documents">>;
export type PassagesOptions = Members<Query<"get_documents_passages_one">>;
export type CorrectionsOptions = Members<Query<"get_corrections">>;
export type CorrectOptions = Omit<Members<Body<"post_corrections">, "action">, "with"> & {
  /** Of `join`, the ref of the passage right behind it. */
  readonly joinedWith?: string | undefined;
};
export type CorrectAction = Body<"post_corrections">["action"];
export type ProposeOptions = Members<Body<"post_rules_propose">, "source">;
export type ImportOptions = Members<Body<"post_rules_import">>;

/** The fragments found, best first. It is empty only where the service found nothing. */
export class Fragments extends Array<Fragment> {
  /** Where there are none and `context` has `nearest`: the nearest passage, which is no answer and no evidence. */
  nearest: Fragment | null = null;
  /** Why nothing is given, where all that was found was withheld. */
  reason = "";

  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** Search results, best first. */
export interface Passages {
  readonly passages: readonly Passage[];
  /** Names of the parts that failed though the answer stands without them. */
  readonly degraded: readonly string[];
  readonly reasons: { readonly [domain: string]: unknown };
  readonly metadata: { readonly [name: string]: any };
  /** Seconds since the oldest change that is not yet in the index; 0 for none. */
  readonly staleBy: number;
  readonly confidence: { readonly [domain: string]: any };
  /** No answers and no evidence: of each domain without one its nearest passage, where that was asked for. */
  readonly nearest: readonly Passage[];
}

/** Snippets that are allowed in a prompt. */
export interface Knowledge {
  readonly snippets: readonly Snippet[];
  /** How many passages were kept back, by reason. */
  readonly withheld: { readonly [reason: string]: any };
  readonly tokens: number;
  readonly degraded: readonly string[];
  readonly staleBy: number;
  readonly confidence: { readonly [domain: string]: any };
  /** The member `CONTEXT_DATA` of a prompt. */
  readonly contextData: { readonly knowledge_snippets: readonly Snippet[] };
}

/** Rules, similar cases and templates, by priority, then falling score. */
export interface United {
  readonly items: readonly Item[];
  readonly regulations: readonly Item[];
  readonly cases: readonly Item[];
  /** What was recognised, which engines answered, what was left out and why. */
  readonly queryContext: { readonly [name: string]: any };
  /** Engines that failed though the answer stands without them. */
  readonly degraded: readonly string[];
}

/** The rules that apply, best first. */
export interface Rules {
  readonly items: readonly Item[];
  readonly recognised: readonly { readonly [name: string]: any }[];
  /** Names that the graph does not know: not the same as having no rules. */
  readonly unmatchedProcesses: readonly string[];
  readonly truncated: readonly string[];
  readonly notes: readonly string[];
  /** Why there are none, when there are none. */
  readonly reason: string;
  readonly auditId: string;
}

/** What is told while a language model answers; the last one is the whole answer. */
export type AnswerEvent =
  | { readonly event: "stage"; readonly data: { readonly stage: string; readonly [name: string]: any } }
  | { readonly event: "claim"; readonly data: AnswerClaim }
  | { readonly event: "dropped"; readonly data: DroppedClaim }
  | { readonly event: "answer"; readonly data: Answer };
